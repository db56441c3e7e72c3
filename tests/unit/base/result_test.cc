// SPDX-License-Identifier: Apache-2.0
#include "base/result.h"

#include <memory>

#include <gtest/gtest.h>

namespace cuco {
namespace {

Result<int> half(int value) {
  if (value % 2 != 0) return Error{ErrorKind::InvalidInput, "odd number: " + std::to_string(value)};
  return value / 2;
}

Result<int> quarter(int value) {
  CUCO_TRY_ASSIGN(const int once, half(value));
  return half(once);
}

Result<void> must_be_even(int value) {
  CUCO_TRY(half(value));
  return {};
}

TEST(Result, CarriesAValueOrAnError) {
  EXPECT_EQ(*quarter(12), 3);
  const Result<int> failed = quarter(6);
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().kind(), ErrorKind::InvalidInput);
  EXPECT_EQ(failed.error().message(), "odd number: 3");
}

TEST(Result, VoidSucceedsWithNothing) {
  EXPECT_TRUE(must_be_even(4));
  EXPECT_FALSE(must_be_even(5));
}

TEST(Result, MovesOutWhatCannotBeCopied) {
  Result<std::unique_ptr<int>> result = std::make_unique<int>(7);
  const std::unique_ptr<int> owned = *std::move(result);
  EXPECT_EQ(*owned, 7);
}

TEST(Result, TrailReadsFromOutsideIn) {
  const Error error =
      Error(ErrorKind::Io, "disk full").while_doing("write 'a'").while_doing("save");
  EXPECT_EQ(error.message(), "save: write 'a': disk full");
}

TEST(Result, WrongSideAccessIsLoud) {
  const Result<int> failed = half(1);
  EXPECT_THROW(static_cast<void>(*failed), std::bad_variant_access);
}

}  // namespace
}  // namespace cuco
