// SPDX-License-Identifier: Apache-2.0
// Like GoogleTest's own main(), but a program in which a case was skipped does not pass silently.
#include <gtest/gtest.h>

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  const int status = RUN_ALL_TESTS();
  const bool skipped = testing::UnitTest::GetInstance()->skipped_test_count() > 0;
  return status == 0 && skipped ? 77 : status;  // ctest's SKIP_RETURN_CODE
}
