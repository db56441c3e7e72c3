// SPDX-License-Identifier: Apache-2.0
#include "ptx/flow/stored_type.h"

#include <string>

#include <gtest/gtest.h>

#include "ptx/parse/parse.h"

namespace cuco::ptx {
namespace {

/// Of the last instruction but `ret`.
StoredType type_of(const std::string& body) {
  const Result<Module> module = parse(
      ".version 9.0\n.target sm_90\n.address_size 64\n.visible .entry k() {\n"
      ".reg .pred %p<4>; .reg .b16 %rs<8>; .reg .b32 %r<16>; .reg .f32 %f<8>; "
      ".reg .f64 %fd<4>; .reg .b64 %rd<8>;\n" +
      body + "\nret;\n}\n");
  EXPECT_TRUE(module) << module.error().message();
  if (!module) return {};
  const Function& function = *module->find_function("k");
  return stored_type(function, function.instructions[function.instructions.size() - 2]);
}

TEST(StoredType, IsThatOfTheStore) {
  EXPECT_EQ(type_of("st.global.f32 [%rd1], %f1;"), StoredType{.f32 = true});
  EXPECT_EQ(type_of("st.global.v2.f64 [%rd1], {%fd1, %fd2};"), StoredType{.f64 = true});
  EXPECT_EQ(type_of("red.global.add.f32 [%rd1], %f1;"), StoredType{.f32 = true});
  EXPECT_EQ(type_of("red.global.add.noftz.bf16x2 [%rd1], %r1;"), StoredType{.bf16 = true});
  EXPECT_EQ(type_of("atom.global.add.u32 %r1, [%rd1], 1;"), StoredType{.integer = true});
}

TEST(StoredType, IsThatOfWhatComputedTheValue) {
  EXPECT_EQ(type_of("cvt.rn.bf16.f32 %rs1, %f1; st.global.u16 [%rd1], %rs1;"),
            StoredType{.bf16 = true});
  EXPECT_EQ(type_of("add.f16 %rs1, %rs2, %rs3; st.global.b16 [%rd1], %rs1;"),
            StoredType{.f16 = true});
  EXPECT_EQ(type_of("add.s32 %r1, %r2, 3; st.global.u32 [%rd1], %r1;"),
            StoredType{.integer = true});
  EXPECT_EQ(type_of("cvt.rzi.s32.f32 %r1, %f1; st.global.u32 [%rd1], %r1;"),
            StoredType{.integer = true});
  EXPECT_EQ(type_of("mov.u32 %r1, %tid.x; st.global.u32 [%rd1], %r1;"),
            StoredType{.integer = true});
}

TEST(StoredType, GoesThroughMovesAndPacking) {
  EXPECT_EQ(type_of("cvt.rn.f16.f32 %rs1, %f1; mov.b32 %r1, {%rs1, %rs1}; mov.b32 %r2, %r1; "
                    "st.global.v2.u32 [%rd1], {%r2, %r1};"),
            StoredType{.f16 = true});
  EXPECT_EQ(type_of("mov.b32 %r1, %f1; add.f32 %f1, %f2, %f3; selp.b32 %r2, %r1, 0, %p1; "
                    "st.global.u32 [%rd1], %r2;"),
            StoredType{.f32 = true});
  // An index beside a value.
  EXPECT_EQ(type_of("add.f32 %f1, %f2, %f3; mov.b32 %r1, %f1; mov.u32 %r2, %tid.x; "
                    "st.global.v2.u32 [%rd1], {%r2, %r1};"),
            (StoredType{.f32 = true, .integer = true}));
  // A loop: %r1 depends on itself.
  EXPECT_EQ(type_of("mov.u32 %r1, 0; mov.u32 %r1, %r2; mov.u32 %r2, %r1; "
                    "st.global.u32 [%rd1], %r2;"),
            StoredType{});
}

TEST(StoredType, IsUnknownForWhatIsOnlyMoved) {
  EXPECT_EQ(type_of("ld.global.v4.u32 {%r1, %r2, %r3, %r4}, [%rd1]; "
                    "st.global.v4.u32 [%rd2], {%r1, %r2, %r3, %r4};"),
            StoredType{});
  EXPECT_EQ(type_of("st.global.u32 [%rd1], 0;"), StoredType{});
  // Rounding to bf16 by hand.
  EXPECT_EQ(type_of("add.s32 %r1, %r2, 32767; shr.u32 %r3, %r1, 16; st.global.u16 [%rd1], %r3;"),
            StoredType{});
}

}  // namespace
}  // namespace cuco::ptx
