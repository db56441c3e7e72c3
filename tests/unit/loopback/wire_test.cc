// SPDX-License-Identifier: Apache-2.0
#include "loopback/wire.h"

#include <gtest/gtest.h>

namespace cuco::loopback {
namespace {

using nccl_core::Check;
using nccl_core::Code;
using nccl_core::Problem;

TEST(Wire, WhatWasPutIsReadInTheSameOrder) {
  const std::vector<std::string> lines = {"one", "", "three"};
  Writer out;
  out.put(std::uint8_t{7}).put(std::string("text")).put(lines);
  out.put(Check()).put(Check(Problem{Code::InvalidUsage, "why"})).put(-5);
  Reader in(out.bytes());
  EXPECT_EQ(in.get<std::uint8_t>(), 7);
  EXPECT_EQ(in.get<std::string>(), "text");
  EXPECT_EQ(in.get<std::vector<std::string>>(), lines);
  EXPECT_FALSE(in.get<Check>());
  const auto problem = in.get<Check>();
  ASSERT_TRUE(problem);
  EXPECT_EQ(problem->code, Code::InvalidUsage);
  EXPECT_EQ(problem->message, "why");
  EXPECT_EQ(in.get<int>(), -5);
  EXPECT_TRUE(in.is_whole());
}

TEST(Wire, WhatIsMissingReadsAsNothing) {
  Writer out;
  out.put(std::vector<int>{1, 2, 3});
  for (std::size_t bytes = 0; bytes < out.bytes().size(); ++bytes) {
    Reader in(std::string_view(out.bytes()).substr(0, bytes));
    EXPECT_LE(in.get<std::vector<int>>().size(), 3U);
    EXPECT_FALSE(in.is_whole()) << bytes;
    EXPECT_EQ(in.get<int>(), 0);
  }
}

TEST(Wire, ALengthThatLiesReservesNothing) {
  Writer out;
  out.put(~std::size_t{0});
  Reader in(out.bytes());
  EXPECT_EQ(in.get<std::string>(), "");
  EXPECT_FALSE(in.is_whole());
}

}  // namespace
}  // namespace cuco::loopback
