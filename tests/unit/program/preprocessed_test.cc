// SPDX-License-Identifier: Apache-2.0
#include "program/preprocessed.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "program/regions.h"

namespace cuco::program {
namespace {

using testing::HasSubstr;

const std::string kSource =
    "int a;\n// cuco: evolve begin one\nint b;\n// cuco: evolve end\nint c;\n";

/// As the preprocessor would have it, with this in the region.
std::string output(const std::string& region) {
  return "# 1 \"program.cu\"\nint a;\n#pragma cuco_mark_s_0\n" + region +
         "#pragma cuco_mark_s_1\n# 5 \"program.cu\"\nint c;\n";
}

FrozenText read(const std::string& text) {
  return read_preprocessed(text, "s", 1, "/our/include");
}

TEST(Preprocessed, MarksStandOnTheMarkersLines) {
  EXPECT_EQ(*mark_regions(kSource, "s"),
            "int a;\n_Pragma(\"cuco_mark_s_0\")\nint b;\n_Pragma(\"cuco_mark_s_1\")\nint c;\n");
  EXPECT_EQ(*mark_regions("// cuco: evolve begin x\n// cuco: evolve end", "s"),
            "_Pragma(\"cuco_mark_s_0\")\n_Pragma(\"cuco_mark_s_1\")\n");
}

TEST(Preprocessed, FrozenTokensAreThoseOutsideOfTheMarks) {
  const FrozenText text = read(output("int b;\n"));
  EXPECT_EQ(text.trouble, "");
  EXPECT_THAT(text.stretches, testing::ElementsAre("int a ; ", "int c ; "));
  EXPECT_EQ(text, read(output("double other() { return 1; }\n")));
}

TEST(Preprocessed, OurHeadersCountAndOthersDoNot) {
  std::string text = output("");
  text.insert(text.find("int c"),
              "# 1 \"/our/include/cuco/workload.h\" 1\nstruct context;\n"
              "# 1 \"/usr/include/stdio.h\" 1 3 4\nint puts();\n"
              "# 9 \"/our/include/cuco/workload.h\" 2\n# 5 \"program.cu\" 2\n");
  EXPECT_EQ(read(text).stretches.at(1), "struct context ; int c ; ");
}

TEST(Preprocessed, AMarkThatIsMissingOrThereTwiceIsTrouble) {
  std::string swallowed = output("const char* t = \"");
  swallowed.replace(swallowed.find("#pragma cuco_mark_s_1\n"), 22, "");
  EXPECT_THAT(read(swallowed).trouble, HasSubstr("reaches over frozen code"));
  EXPECT_THAT(read(output("#pragma cuco_mark_s_0\n")).trouble, HasSubstr("brings it in twice"));
  EXPECT_THAT(read(output("# 1 \"x.h\" 1\nint b;\n")).trouble, HasSubstr("reaches over"));
}

TEST(Preprocessed, LinesOfAssertionsMayMove) {
  const std::string one = "# 5 \"program.cu\"\nfail(\"x\", 5);\n";
  const std::string two = "# 9 \"program.cu\"\nfail(\"x\", 9);\n";
  EXPECT_EQ(read_preprocessed(one, "s", 0, "/h"), read_preprocessed(two, "s", 0, "/h"));
}

TEST(Preprocessed, WhatARegionMayNot) {
  for (const char* trick : {"}\nnamespace {\n",
                            "namespace evil {\n",
                            "%>\nnamespace <%\n",
                            "int f( int\n",
                            "int cuco_run(void*, int);\n",
                            "using cuco_setup;\n",
                            "extern \"C\" int f() __asm__(\"cuco_\" \"run\");\n",
                            "asm(\".globl x\");\n",
                            "namespace n { int f() asm(\"y\"); }\n",
                            "struct S { int f() __asm(\"y\"); };\n",
                            "extern \"C\" { int f() asm(\"y\"); }\n",
                            "int f() __attribute__((alias(\"cuco_x\")));\n",
                            "[[gnu::weakref(\"y\")]] int f();\n",
                            "#pragma redefine_extname f g\n",
                            "#pragma weak f = g\n",
                            "#pragma pack(push, 1)\n",
                            "#pragma pack(2)\n",
                            "#pragma pack(push)\n#pragma pack(pop)\n#pragma pack(pop)\n",
                            "#pragma GCC optimize(\"fast-math\")\n",
                            "#pragma GCC visibility push(hidden)\n",
                            "void f() { asm volatile(\".if 0\"); }\n",
                            "void f() { asm(\"nop\\n\\t.mac\" \"ro x\"); }\n",
                            "void f() { asm(\"1:.rept 3\"); }\n",
                            "void f() { asm(\"nop; \\056set a, b\" ::); }\n",
                            "void f() { asm(\"\\u002eif 0\"); }\n",
                            "void f() { asm(R\"x(nop/**/.section y)x\"); }\n",
                            "void f() { asm(\"nop;\\x2eglobl y\"); }\n"}) {
    EXPECT_NE(read(output(trick)).trouble, "") << trick;
  }
}

TEST(Preprocessed, WhatItMay) {
  for (const char* honest :
       {"__global__ void k() { asm volatile(\"fence.acq_rel.sys;\" ::: \"memory\"); }\n",
        "template <int N> struct S { __device__ void f() { asm(\"x\"); } };\n",
        "const char* t = \"}}}\"; char c = '{'; auto s = R\"x(} asm( )x\"; wchar_t w = L'\"';\n",
        "static const auto f = [](int x) { return x; };\n", "#pragma unroll 4\n",
        "#pragma pack(push, 1)\n#pragma pack(4)\n#pragma pack(pop)\n",
        "#pragma GCC diagnostic push\n", "#pragma nv_diag_suppress 177\n", "#pragma unroll(2)\n",
        "void f() { asm(\"{ .reg .pred p; .reg .b32 x;\\n\\tld.global.v4.u32 {%0}, [%1]; }\" ::); "
        "}\n",
        "void f() { asm(\"{\\n.shared .align 8 .b64 x;\\n.reg .f16x2 y, z.w;\\n}\"); }\n",
        "namespace a { namespace b { int copy(int alias); } }\n"}) {
    EXPECT_EQ(read(output(honest)).trouble, "") << honest;
  }
}

TEST(Preprocessed, SaysWhereTwoDiffer) {
  const FrozenText seed{{"int a ; ", "extern \"C\" int cuco_run ( ) ; "}, ""};
  FrozenText other = seed;
  EXPECT_FALSE(first_difference(seed, other));
  other.stretches[1] = "extern \"C\" int cuco_run_of_mine ( ) ; ";
  const auto difference = first_difference(seed, other);
  ASSERT_TRUE(difference);
  EXPECT_EQ(difference->was, "cuco_run ( ) ; ");
  EXPECT_EQ(difference->is, "cuco_run_of_mine ( ) ; ");
}

TEST(Preprocessed, LineDirectivesInEverySpelling) {
  for (const char* trick :
       {"#line 5\n", "# line 5 \"x\"\n", "# 5 \"program.cu\" 1\n", "%: 5 \"x\"\n", "#li\\\nne 5\n",
        "/* */ # 5 \"x\"\n", "x */ #line 7\n"}) {
    EXPECT_TRUE(has_line_directive(trick)) << trick;
  }
  for (const char* honest : {"// step #5\n", "#define LINE 5\n", "#if 1\n#endif\n",
                             "int x; // # 5\n", "#pragma unroll 4\n"}) {
    EXPECT_FALSE(has_line_directive(honest)) << honest;
  }
}

}  // namespace
}  // namespace cuco::program
