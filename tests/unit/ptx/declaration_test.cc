// SPDX-License-Identifier: Apache-2.0
#include <cstring>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ptx/parse/parse.h"

namespace cuco::ptx {
namespace {

using ::testing::HasSubstr;

Result<Module> parse_items(std::string_view items) {
  return parse(".version 8.0\n.target sm_80\n.address_size 64\n" + std::string(items));
}

Module parse_module(std::string_view items) {
  Result<Module> module = parse_items(items);
  EXPECT_TRUE(module) << module.error().message();
  return module ? *std::move(module) : Module{};
}

Variable parse_variable(std::string_view declaration) {
  const Module module = parse_module(declaration);
  EXPECT_EQ(module.variables.size(), 1U);
  return module.variables.empty() ? Variable{} : module.variables[0];
}

template <typename T>
T value_at(const Variable& variable, std::size_t offset) {
  T value{};
  EXPECT_LE(offset + sizeof value, variable.init.size());
  if (offset + sizeof value <= variable.init.size()) {
    std::memcpy(&value, variable.init.data() + offset, sizeof value);
  }
  return value;
}

std::string error_of(std::string_view items) {
  const Result<Module> module = parse_items(items);
  return module ? "" : module.error().message();
}

TEST(Declaration, KnowsSpacesLinkageAndAlignment) {
  const Module module = parse_module(R"(
.visible .global .align 16 .b8 a[100];
.extern .shared .align 8 .b8 dyn[];
.weak .const .f32 c;
.common .global .u64 d;
.global .attribute(.managed) .align 4 .u32 m = 5, n;
.shared .v4 .f32 s[2];
)");
  const auto& v = module.variables;
  ASSERT_EQ(v.size(), 7U);
  EXPECT_EQ(v[0].linkage, Linkage::Visible);
  EXPECT_EQ(v[0].align, 16U);
  EXPECT_EQ(v[0].bytes, 100U);
  EXPECT_EQ(v[1].space, Space::Shared);
  EXPECT_EQ(v[1].bytes, 0U);
  EXPECT_EQ(v[1].linkage, Linkage::Extern);
  EXPECT_EQ(v[2].space, Space::Const);
  EXPECT_EQ(v[2].align, 4U);
  EXPECT_EQ(v[3].linkage, Linkage::Common);
  EXPECT_TRUE(v[4].managed);
  EXPECT_EQ(value_at<std::uint32_t>(v[4], 0), 5U);
  EXPECT_EQ(v[5].name, "n");
  EXPECT_EQ(v[6].bytes, 32U);
  EXPECT_EQ(v[6].align, 16U);
}

TEST(Declaration, FillsArrays) {
  const Variable x = parse_variable(".global .align 2 .u16 x[4] = {1, -2, 0x30};");
  EXPECT_EQ(x.bytes, 8U);
  EXPECT_EQ(x.init.size(), 6U);  // The rest is zero.
  EXPECT_EQ(value_at<std::int16_t>(x, 2), -2);
  EXPECT_EQ(value_at<std::int16_t>(x, 4), 0x30);
}

TEST(Declaration, NestedListsStartRows) {
  const Variable x = parse_variable(".global .u32 x[2][3] = {{1}, {2, 3}};");
  EXPECT_EQ(x.bytes, 24U);
  EXPECT_EQ(value_at<std::uint32_t>(x, 0), 1U);
  EXPECT_EQ(value_at<std::uint32_t>(x, 4), 0U);
  EXPECT_EQ(value_at<std::uint32_t>(x, 12), 2U);
  EXPECT_EQ(value_at<std::uint32_t>(x, 16), 3U);
  const Variable v = parse_variable(".global .v2 .f32 v[2] = {{1.0, 2.0}, {3.0, 4.0}};");
  EXPECT_EQ(value_at<float>(v, 12), 4.0F);
}

TEST(Declaration, TheInitialiserSizesAnOpenArray) {
  EXPECT_EQ(parse_variable(".global .u16 x[] = {1, 2, 3};").bytes, 6U);
}

TEST(Declaration, ConvertsFloats) {
  const Variable f = parse_variable(
      ".const .f32 f[5] = {0f3F800000, 0d4000000000000000, -1.5, 3, "
      "0f7FA00001};");
  EXPECT_EQ(value_at<float>(f, 0), 1.0F);
  EXPECT_EQ(value_at<float>(f, 4), 2.0F);
  EXPECT_EQ(value_at<float>(f, 8), -1.5F);
  EXPECT_EQ(value_at<float>(f, 12), 3.0F);
  EXPECT_EQ(value_at<std::uint32_t>(f, 16), 0x7FA00001U);  // A signalling NaN stays one.
  EXPECT_EQ(value_at<double>(parse_variable(".global .f64 d = 0f40400000;"), 0), 3.0);
  EXPECT_EQ(value_at<std::uint32_t>(parse_variable(".global .b32 b = 0f40400000;"), 0),
            0x40400000U);
}

TEST(Declaration, KeepsAddressesAsRelocations) {
  const Module module = parse_module(R"(
.func f { ret; }
.global .align 8 .u64 table[4] = {f, generic(buf)+8, later, 7};
.global .align 1 .u8 packed[9] = {1, 0XFF(generic(buf)), 0xFF00(generic(buf)), 0xFF0000(buf)};
.global .u64 self = generic(self);
.global .b8 buf[16];
.global .u32 later;
)");
  const Variable& table = *module.find_variable("table");
  ASSERT_EQ(table.relocations.size(), 3U);
  EXPECT_EQ(module.symbols[table.relocations[0].symbol].name, "f");
  EXPECT_FALSE(table.relocations[0].generic);
  EXPECT_TRUE(table.relocations[1].generic);
  EXPECT_EQ(table.relocations[1].addend, 8);
  EXPECT_EQ(table.relocations[1].offset, 8U);
  EXPECT_EQ(module.symbols[table.relocations[2].symbol].name, "later");
  EXPECT_EQ(value_at<std::uint64_t>(table, 24), 7U);
  const Variable& packed = *module.find_variable("packed");
  ASSERT_EQ(packed.relocations.size(), 3U);
  EXPECT_EQ(packed.relocations[1].shift, 8U);
  EXPECT_EQ(packed.relocations[1].bytes, 1U);
  EXPECT_EQ(packed.relocations[1].offset, 2U);
  EXPECT_EQ(module.find_variable("self")->relocations.size(), 1U);
}

TEST(Declaration, AFunctionsGlobalsBelongToTheModule) {
  const Module module = parse_module(R"(
.entry k() { .reg .u32 %r<2>; { .global .u32 counter = 3; ld.global.u32 %r1, [counter]; } }
.entry j() { .reg .u32 %r<2>; { .global .u32 counter = 4; ld.global.u32 %r1, [counter]; } }
)");
  ASSERT_EQ(module.variables.size(), 2U);
  EXPECT_EQ(module.variables[0].name, "k::counter");
  const Operand& address = module.find_function("j")->instructions[0].operands[1];
  EXPECT_EQ(address.elements[0].kind, Operand::Kind::Symbol);
  EXPECT_EQ(module.symbols[address.elements[0].index].index, 1U);
}

TEST(Declaration, TexturesAreHarmless) {
  const Module module = parse_module(R"(
.global .texref t;
.global .samplerref s = { addr_mode_0 = clamp_to_border, filter_mode = nearest };
.global .surfref u;
.tex .u32 old;
)");
  EXPECT_EQ(module.variables.size(), 4U);
}

TEST(DeclarationError, HostileSizesCostNothing) {
  EXPECT_THAT(error_of(".global .b8 x[99999999999999];"), HasSubstr("array is too large"));
  EXPECT_THAT(error_of(".global .b64 x[1000000][1000000][1000000];"),
              HasSubstr("array is too large"));
  EXPECT_THAT(error_of(".global .b8 x[9][1000000000] = {{1},{2},{3}};"),
              HasSubstr("initialisers are too large"));
  EXPECT_THAT(error_of(".entry k() { .reg .b32 %r<4000000000>; }"),
              HasSubstr("too many registers"));
  EXPECT_THAT(error_of(".global .b8 x[2] = {1,2,3};"), HasSubstr("too many initialisers"));
  EXPECT_THAT(error_of(".global .b8 x[2] = {{{1}}};"), HasSubstr("nested deeper"));
  EXPECT_THAT(error_of(".global .align 3 .b8 x;"), HasSubstr("power of two"));
  EXPECT_THAT(error_of(".entry k() " + std::string(1000, '{')), HasSubstr("nested too deep"));
  EXPECT_THAT(error_of(".global .b32 x = " + std::string(100000, '(')),
              HasSubstr("nested too deep"));
  EXPECT_THAT(error_of(".entry k() { mov.b32 " + std::string(100000, '{')),
              HasSubstr("nested too deep"));
}

}  // namespace
}  // namespace cuco::ptx
