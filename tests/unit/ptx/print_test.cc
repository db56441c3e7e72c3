// SPDX-License-Identifier: Apache-2.0
#include "ptx/print.h"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ptx/parse/parse.h"

namespace cuco::ptx {
namespace {

using ::testing::HasSubstr;

Module parse_text(const std::string& text) {
  Result<Module> module = parse(text);
  EXPECT_TRUE(module) << module.error().message() << "\n" << text;
  return module ? *std::move(module) : Module{};
}

Module parse_items(const std::string& items) {
  return parse_text(".version 9.0\n.target sm_90\n.address_size 64\n" + items);
}

std::string read(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// Printing and parsing again changes nothing but names.
void expect_round_trip(const Module& module) {
  const std::string text = print(module);
  const Module again = parse_text(text);
  EXPECT_EQ(print(again), text);
  ASSERT_EQ(again.variables.size(), module.variables.size());
  std::size_t before = 0;
  std::size_t after = 0;
  for (const Function& function : module.functions)
    before += function.instructions.size();
  for (const Function& function : again.functions)
    after += function.instructions.size();
  EXPECT_EQ(before, after);
}

TEST(Print, OneInstructionAsWritten) {
  const Module module = parse_items(R"(
.global .u32 x[4];
.func callee;
.entry k(.param .u64 p) {
  .reg .pred %p<2>; .reg .b32 %r<5>; .reg .b64 %rd<3>; .reg .f32 %f<2>;
  @!%p1 ld.global.v2.u32 {%r1, %r2}, [%rd2+-4];
  shfl.sync.down.b32 %r1|%p1, %r2, 16, 31, -1;
  setp.lt.and.f32 %p1, %f1, 0f3F800000, !%p0;
  mov.u64 %rd1, x+8;
  ld.param.u64 %rd1, [p];
  vadd.s32.u32.s32 %r1, %r2.b0, %tid.x;
  call.uni callee;
  ret;
})");
  const Function& k = *module.find_function("k");
  const std::vector<std::string> expected = {
      "@!%p1 ld.global.v2.u32 {%r1, %r2}, [%rd2+-4];",
      "shfl.sync.down.b32 %r1|%p1, %r2, 16, 31, -1;",
      "setp.lt.and.f32 %p1, %f1, 0f3F800000, !%p0;",
      "mov.u64 %rd1, x+8;",
      "ld.param.u64 %rd1, [p];",
      "vadd.s32.u32.s32 %r1, %r2.b0, %tid.x;",
      "call.uni callee;",
      "ret;",
  };
  ASSERT_EQ(k.instructions.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(print(module, k, k.instructions[i]), expected[i]);
  }
}

TEST(Print, HiddenNamesGetNumbers) {
  const Module module = parse_items(
      ".entry k() { .reg .b32 p; mov.b32 p, 1; { .reg .b32 p; mov.b32 p, 2; } mov.b32 p, 3; }");
  EXPECT_THAT(print(module), HasSubstr("mov.b32 p, 1;\n\tmov.b32 p$1, 2;\n\tmov.b32 p, 3;"));
}

TEST(Print, DataRoundTrips) {
  const Module module = parse_items(R"(
.func (.reg .b32 r) f(.reg .b32 a) { add.s32 r, a, 1; ret; }
.visible .func g(.param .b32 a);
.visible .func h(.param .b32 a) .noreturn { trap; }
.alias g, h;
.global .align 8 .u64 table[3] = {f, generic(later)+8, 7};
.global .u8 packed[9] = {1, 0xFF(generic(later)), 0xFF00(later)};
.const .f32 c[2] = {0f3F800000, -1.5};
.visible .global .attribute(.managed) .align 4 .u32 m = 5;
.extern .shared .align 16 .b8 dynamic[];
.global .align 4 .b8 later[16];
.entry k(.param .align 8 .b8 s[24]) .maxntid 32 .minnctapersm 2 .reqnctapercluster 2 {
  .reg .b32 %r<2>; .shared .v2 .f32 t[2]; .param .b32 q;
  L: .branchtargets A, B, C; P: .callprototype _ (.param .b32 _);
  A: .pragma "nounroll"; brx.idx %r1, L; B: bra C; call %r1, (q), P; { .global .u32 hidden = 3; } C:
})");
  expect_round_trip(module);
}

TEST(Print, RealModulesRoundTrip) {
  const auto folder = std::filesystem::path(CUCO_SOURCE_DIR) / "tests/data/ptx";
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() == ".ptx") expect_round_trip(parse_text(read(entry.path())));
  }
}

TEST(Print, ALinkedProgramIsOneText) {
  std::vector<Module> modules;
  modules.push_back(
      parse_items(".extern .func f; .global .u32 x = 1; .visible .entry k() { call f; }"));
  modules.push_back(parse_items(".visible .func f { ret; } .global .u32 x = 2;"));
  const Result<Module> linked = link(std::move(modules));
  ASSERT_TRUE(linked);
  expect_round_trip(*linked);
}

}  // namespace
}  // namespace cuco::ptx
