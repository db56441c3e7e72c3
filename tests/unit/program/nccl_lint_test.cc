// SPDX-License-Identifier: Apache-2.0
#include "program/nccl_lint.h"

#include <gtest/gtest.h>

namespace cuco::program {
namespace {

TEST(NcclLint, WarnsOfAShadowThatIsNotUpdated) {
  const auto warnings = lint_nccl_2_28(
      "#include <nccl_device.h>\n"
      "__global__ void k(ncclDevComm c) {\n"
      "  ncclGin gin{c, 0};\n"
      "  gin.waitSignalFollowShadow(ncclCoopCta(), 0, 1u, &before, &delta);\n"
      "}\n");
  ASSERT_EQ(warnings.size(), 1U);
  EXPECT_EQ(warnings[0].line, 4U);
  EXPECT_NE(warnings[0].message.find("fixed in 2.29.7"), std::string::npos);
}

TEST(NcclLint, WarnsOfCounterBitsOnlyIfTheyAreGiven) {
  EXPECT_TRUE(lint_nccl_2_28("nccl; gin.waitCounter(ncclCoopCta{}, f(1, 2), {3, 4}[0]);").empty());
  const auto warnings = lint_nccl_2_28("nccl;\n gin.waitCounter(ncclCoopCta(), 0, 7, 8);");
  ASSERT_EQ(warnings.size(), 1U);
  EXPECT_EQ(warnings[0].line, 2U);
  EXPECT_NE(warnings[0].message.find("ignores `bits`"), std::string::npos);
}

TEST(NcclLint, LooksAtCodeOnly) {
  EXPECT_TRUE(lint_nccl_2_28("nccl // waitSignalFollowShadow(x)\n"
                             "/* waitSignalFollowShadow(x) */ \"waitSignalFollowShadow(x)\"\n"
                             "int n = 1'000; my_waitSignalFollowShadow(x); char c = '\"';\n"
                             "gin.waitSignalMeetShadow(coop, 0); auto p = &T::waitCounter;")
                  .empty());
  EXPECT_TRUE(lint_nccl_2_28("gin.waitSignalFollowShadow(x)").empty());  // Not NCCL's.
  EXPECT_TRUE(lint_nccl_2_28("nccl waitCounter(1, 2, 3, 4").empty());    // Never closed.
}

}  // namespace
}  // namespace cuco::program
