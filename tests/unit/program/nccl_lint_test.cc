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

TEST(NcclLint, WarnsOfFloatingPointValuesThatArePut) {
  for (const char* text :
       {"gin.putValue(world, 1, w, 0, 1.5f);", "gin.putValue<float>(world, 1, w, 0, x);",
        "gin.putValue(world, 1, pointer, (double)x, ncclGin_SignalInc{0});"}) {
    const auto warnings = lint_nccl_2_28(text);
    ASSERT_EQ(warnings.size(), 1U) << text;
    EXPECT_NE(warnings[0].message.find("fixed in 2.29.7"), std::string::npos);
  }
  EXPECT_TRUE(lint_nccl_2_28("gin.putValue(world, 1, w, 0, uint32_t(7));").empty());
  EXPECT_TRUE(lint_nccl_2_28("gin.putValue<uint64_t>(world, 1, w, 0, x);").empty());
}

TEST(NcclLint, FindsInlinedCallsInPtx) {
  // "_Z22waitSignalFollowShadowv" and "_Z8putValueIjEvT_", as nvcc -lineinfo writes them.
  const std::string follow =
      ".b8 95,90,50,50,119,97,105,116,83,105,103,110,97,108,70,111,108,108,111,119\n"
      ".b8 83,104,97,100,111,119,118,0\n";
  const std::string put = ".b8 95,90,56,112,117,116,86,97,108,117,101,73,106,69,118,84,95,0\n";
  const std::string put_float =
      ".b8 95,90,56,112,117,116,86,97,108,117,101,73,102,69,118,84,95,0\n";
  const auto ptx = [](const std::string& name) {
    return "\t.loc\t2 9 3, function_name $L__info_string0, inlined_at 1 23 4\n"
           "\t.file\t1 \"a.cu\"\n\t.file\t2 \"gin.h\"\n\t.section\t.debug_str\n{\n"
           "$L__info_string0:\n" +
           name + "}\n";
  };
  const auto warnings = lint_nccl_2_28_ptx(ptx(follow));
  ASSERT_EQ(warnings.size(), 1U);
  EXPECT_EQ(warnings[0].file, "a.cu");
  EXPECT_EQ(warnings[0].line, 23U);
  EXPECT_EQ(lint_nccl_2_28_ptx(ptx(put_float)).size(), 1U);
  EXPECT_TRUE(lint_nccl_2_28_ptx(ptx(put)).empty());
  EXPECT_TRUE(lint_nccl_2_28_ptx("").empty());
  EXPECT_TRUE(lint_nccl_2_28_ptx(".debug_str").empty());
}

TEST(NcclLint, KnowsWhatATextIncludesWithQuotes) {
  EXPECT_EQ(local_includes("#include <nccl.h>\n  # include \"a/b.h\" // x\n#include \"c.h\"\n"),
            (std::vector<std::string>{"a/b.h", "c.h"}));
}

TEST(NcclLint, LooksAtCodeOnly) {
  EXPECT_TRUE(lint_nccl_2_28("nccl // waitSignalFollowShadow(x)\n"
                             "/* waitSignalFollowShadow(x) */ \"waitSignalFollowShadow(x)\"\n"
                             "int n = 1'000; my_waitSignalFollowShadow(x); char c = '\"';\n"
                             "gin.waitSignalMeetShadow(coop, 0); auto p = &T::waitCounter;")
                  .empty());
  EXPECT_TRUE(lint_nccl_2_28("a.waitSignalFollowShadow(x)").empty());  // Not NCCL's.
  EXPECT_TRUE(lint_nccl_2_28("nccl waitCounter(1, 2, 3, 4").empty());  // Never closed.
}

}  // namespace
}  // namespace cuco::program
