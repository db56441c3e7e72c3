// SPDX-License-Identifier: Apache-2.0
#include "ptx/container/cubin.h"

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/rng.h"
#include "ptx/container/fatbin.h"

namespace cuco::ptx {
namespace {

using ::testing::Each;
using ::testing::Field;
using ::testing::Ge;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::Pair;

std::vector<std::byte> image(const std::string& name) {
  const auto path = std::filesystem::path(CUCO_SOURCE_DIR) / "tests/data/fatbin" / name;
  std::ifstream file(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  std::vector<std::byte> bytes(text.size());
  std::memcpy(bytes.data(), text.data(), text.size());
  return bytes;
}

TEST(Cubin, RegistersComeFromTheCodeOfThisGpu) {
  const KernelResources counts = resources_of_fatbin(image("none.fatbin"), 90);
  EXPECT_THAT(counts, Not(IsEmpty()));
  EXPECT_THAT(counts, Each(Pair(Not(IsEmpty()), Field(&ThreadResources::registers, Ge(1U)))));
  EXPECT_EQ(resources_of_fatbin(image("zstd.fatbin"), 90), counts);
  EXPECT_EQ(resources_of_fatbin(image("lz4.fatbin"), 90), counts);
  EXPECT_THAT(resources_of_fatbin(image("none.fatbin"), 80), IsEmpty());
}

TEST(Cubin, DamagedCodeIsAnErrorOrAnEstimateNeverACrash) {
  const std::vector<std::byte> whole = image("elf.fatbin");
  const auto entries = list_fatbin(whole);
  ASSERT_TRUE(entries && !entries->empty());
  const auto bytes = bytes_of(entries->front());
  ASSERT_TRUE(bytes);
  Rng rng(7);
  for (int i = 0; i < 2000; ++i) {
    std::string damaged = *bytes;
    for (int k = 0; k < 4; ++k)
      damaged[rng.below(damaged.size())] = static_cast<char>(rng.next());
    damaged.resize(1 + rng.below(damaged.size()));
    (void)resources_of_cubin(std::as_bytes(std::span(damaged))).has_value();
  }
  EXPECT_FALSE(resources_of_cubin(std::as_bytes(std::span(*bytes).first(40))));
}

}  // namespace
}  // namespace cuco::ptx
