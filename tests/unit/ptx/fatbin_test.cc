// SPDX-License-Identifier: Apache-2.0
#include "ptx/container/fatbin.h"

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/rng.h"
#include "ptx/parse/parse.h"

namespace cuco::ptx {
namespace {

using ::testing::HasSubstr;

std::vector<std::byte> image(const std::string& name) {
  const auto path = std::filesystem::path(CUCO_SOURCE_DIR) / "tests/data/fatbin" / name;
  std::ifstream file(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  std::vector<std::byte> bytes(text.size());
  std::memcpy(bytes.data(), text.data(), text.size());
  return bytes;
}

class Compression : public testing::TestWithParam<const char*> {};

TEST_P(Compression, TheBestPtxComesOutWhole) {
  const std::vector<std::byte> bytes = image(GetParam());
  for (const auto& [sm, target] :
       {std::pair(90U, "sm_90"), {80U, "sm_80"}, {86U, "sm_80"}, {100U, "sm_90"}}) {
    const Result<std::string> text = ptx_of_fatbin(bytes, sm);
    ASSERT_TRUE(text) << text.error().message();
    const Result<Module> module = parse(*text);
    ASSERT_TRUE(module) << module.error().message();
    EXPECT_EQ(module->target, target);
    EXPECT_NE(module->find_variable("offset"), nullptr);
  }
}

TEST_P(Compression, DamageIsAnErrorNotACrash) {
  const std::vector<std::byte> bytes = image(GetParam());
  Rng rng(7);
  for (int i = 0; i < 500; ++i) {
    std::vector<std::byte> damaged = bytes;
    for (std::uint64_t n = 1 + rng.below(4); n-- > 0;) {
      damaged[rng.below(damaged.size())] = static_cast<std::byte>(rng.next());
    }
    if (rng.below(4) == 0) damaged.resize(rng.below(damaged.size()));
    (void)ptx_of_fatbin(damaged, 90);
  }
}

INSTANTIATE_TEST_SUITE_P(All,
                         Compression,
                         testing::Values("zstd.fatbin", "lz4.fatbin", "none.fatbin"));

TEST(Fatbin, ListsEntries) {
  const std::vector<std::byte> bytes = image("zstd.fatbin");
  const auto entries = list_fatbin(bytes);
  ASSERT_TRUE(entries);
  ASSERT_EQ(entries->size(), 3U);
  EXPECT_EQ((*entries)[0].kind, FatbinEntry::Kind::Elf);
  EXPECT_EQ((*entries)[1].kind, FatbinEntry::Kind::Ptx);
  EXPECT_EQ((*entries)[1].isa_major, 9U);
  EXPECT_EQ(*fatbin_size(bytes), bytes.size());
}

TEST(FatbinError, SaysWhatIsThereAndWhatHelps) {
  EXPECT_EQ(ptx_of_fatbin(image("elf.fatbin"), 90).error().message(),
            "fat binary holds no PTX for sm_90, only sm_90; compile with -gencode "
            "arch=compute_90,code=compute_90");
  EXPECT_THAT(ptx_of_fatbin(image("none.fatbin"), 70).error().message(),
              HasSubstr("only sm_90, compute_90, compute_80"));
}

TEST(Fatbin, NewerPtxServesAGpuThatHasMachineCode) {
  const std::vector<std::byte> bytes = image("newer.fatbin");  // sm_90, compute_120
  const Result<std::string> text = ptx_of_fatbin(bytes, 90);
  ASSERT_TRUE(text) << text.error().message();
  EXPECT_THAT(*text, HasSubstr(".target sm_120"));
  EXPECT_THAT(ptx_of_fatbin(bytes, 80).error().message(), HasSubstr("no PTX for sm_80"));
}

TEST(FatbinError, RefusesBombs) {
  std::vector<std::byte> bytes = image("zstd.fatbin");
  const auto entries = list_fatbin(bytes);
  const std::size_t entry = static_cast<std::size_t>((*entries)[1].body.data() - bytes.data()) - 80;
  const std::uint64_t huge = std::uint64_t{1} << 40U;
  std::memcpy(bytes.data() + entry + 56, &huge, sizeof huge);
  EXPECT_EQ(ptx_of_fatbin(bytes, 90).error().message(), "fat binary: an entry is too large");
}

}  // namespace
}  // namespace cuco::ptx
