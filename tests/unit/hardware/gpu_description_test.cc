// SPDX-License-Identifier: Apache-2.0
#include "hardware/gpu_description.h"

#include <fstream>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "hardware/accuracy.h"

namespace cuco::hardware {
namespace {

using ::testing::HasSubstr;

std::string read_file(const std::string& name) {
  std::ifstream in(std::string(CUCO_SOURCE_DIR) + "/hardware/" + name);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  text.replace(text.find(from), from.size(), to);
  return text;
}

TEST(GpuDescription, ShippedFilesLoad) {
  for (const char* name : {"h200", "h100", "a100"}) {
    const auto gpu = load_gpu_description(name, CUCO_SOURCE_DIR);
    ASSERT_TRUE(gpu) << gpu.error().message();
    EXPECT_EQ(gpu->key, name);
    EXPECT_EQ(gpu->registers_per_sm, 65536U);
  }
  const auto h200 = load_gpu_description("h200", CUCO_SOURCE_DIR);
  EXPECT_EQ(h200->sms, 132U);
  EXPECT_EQ(h200->shared_per_sm, 228U * 1024);
  EXPECT_EQ(h200->compute_major, 9U);
}

TEST(Accuracy, IsSaidOfKernelsAndWhereThereAreAnyOfCollectives) {
  const auto h200 = parse_accuracy(read_file("h200.toml"), "h200.toml");
  const auto a100 = parse_accuracy(read_file("a100.toml"), "a100.toml");
  ASSERT_TRUE(h200 && a100);
  EXPECT_THAT(
      accuracy_text(*h200, "H200", false),
      ::testing::MatchesRegex("± [0-9]+ %, calibrated on an H200 .9 in 10 of [0-9]+ kernels."));
  EXPECT_THAT(accuracy_text(*h200, "H200", true), HasSubstr("; collectives ± 25 % (365 "));
  EXPECT_THAT(accuracy_text(*a100, "A100", true),
              HasSubstr("unknown: no kernel was timed on an A100; collectives ± "));
}

TEST(GpuDescription, ErrorsNameFileLineAndKey) {
  const std::string good = read_file("h200.toml");
  const auto wrong_type =
      parse_gpu_description(replaced(good, "sms = 132", "sms = \"many\""), "x.toml");
  ASSERT_FALSE(wrong_type);
  EXPECT_THAT(wrong_type.error().message(), HasSubstr("x.toml:10: key gpu.sms"));

  const auto missing = parse_gpu_description(replaced(good, "sms = 132", ""), "x.toml");
  ASSERT_FALSE(missing);
  EXPECT_THAT(missing.error().message(), HasSubstr("gpu.sms is missing"));

  const auto unknown =
      parse_gpu_description(replaced(good, "sms = 132", "sms = 132\nsmz = 1"), "x.toml");
  ASSERT_FALSE(unknown);
  EXPECT_THAT(unknown.error().message(), HasSubstr("did you mean gpu.sms"));

  const auto syntax = parse_gpu_description("[gpu\n", "x.toml");
  ASSERT_FALSE(syntax);
  EXPECT_THAT(syntax.error().message(), HasSubstr("x.toml:1"));
}

TEST(GpuDescription, UnknownNameIsNotFound) {
  const auto none = load_gpu_description("b300", CUCO_SOURCE_DIR);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().kind(), ErrorKind::NotFound);
}

}  // namespace
}  // namespace cuco::hardware
