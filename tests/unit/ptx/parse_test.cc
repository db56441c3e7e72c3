// SPDX-License-Identifier: Apache-2.0
#include "ptx/parse/parse.h"

#include <bit>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cuco::ptx {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::string_view kHeader = ".version 9.0\n.target sm_90\n.address_size 64\n";

Module parse_module(std::string_view items) {
  Result<Module> module = parse(std::string(kHeader) + std::string(items));
  EXPECT_TRUE(module) << module.error().message();
  return module ? *std::move(module) : Module{};
}

/// The entry `k` with this body.
Function parse_body(std::string_view body) {
  const Module module =
      parse_module(".visible .entry k(.param .u64 k_param_0) {\n" + std::string(body) + "\n}\n");
  const Function* function = module.find_function("k");
  return function == nullptr ? Function{} : *function;
}

Instruction parse_instruction(std::string_view text) {
  const Function function = parse_body(
      ".reg .pred %p<4>; .reg .b32 %r<8>; .reg .b64 %rd<8>; .reg .f32 %f<8>; .reg .b128 %q;\n" +
      std::string(text));
  EXPECT_EQ(function.instructions.size(), 1U);
  return function.instructions.empty() ? Instruction{} : function.instructions[0];
}

std::string error_of(std::string_view items) {
  const Result<Module> module = parse(std::string(kHeader) + std::string(items));
  return module ? "" : module.error().message();
}

std::string body_error(std::string_view body) {
  return error_of(".entry k() {\n" + std::string(body) + "\n}\n");
}

TEST(Parse, ReadsTheHeader) {
  const Module module = parse_module("");
  EXPECT_EQ(module.version_major, 9U);
  EXPECT_EQ(module.version_minor, 0U);
  EXPECT_EQ(module.target, "sm_90");
}

TEST(Parse, KeepsModifiersAndTypesInTheOrderWritten) {
  const Instruction ld =
      parse_instruction("ld.relaxed.sys.global.v4.u32 {%r1,%r2,%r3,%r4}, [%rd1+-8];");
  EXPECT_EQ(ld.opcode, Opcode::Ld);
  EXPECT_THAT(ld.modifiers,
              ElementsAre(Modifier::Relaxed, Modifier::Sys, Modifier::Global, Modifier::V4));
  EXPECT_THAT(ld.types, ElementsAre(Type::U32));
  EXPECT_EQ(ld.text, "ld.relaxed.sys.global.v4.u32");
  ASSERT_EQ(ld.operands.size(), 2U);
  EXPECT_EQ(ld.operands[0].kind, Operand::Kind::Vector);
  EXPECT_EQ(ld.operands[0].elements.size(), 4U);
  EXPECT_EQ(ld.operands[1].kind, Operand::Kind::Address);
  EXPECT_EQ(ld.operands[1].value, -8);
  EXPECT_EQ(ld.operands[1].elements[0].kind, Operand::Kind::Register);
}

TEST(Parse, AllowsBlanksInsideAnOpcode) {
  EXPECT_EQ(parse_instruction("ld .global .u32 %r1, [%rd1];").text, "ld.global.u32");
}

TEST(Parse, TellsOpcodesFromModifiersOfTheSameSpelling) {
  const Instruction atom = parse_instruction("atom.global.min.s32 %r1, [%rd1], %r2;");
  EXPECT_EQ(atom.opcode, Opcode::Atom);
  EXPECT_TRUE(atom.has(Modifier::Min));
  EXPECT_EQ(parse_instruction("min.s32 %r1, %r2, %r3;").opcode, Opcode::Min);
}

TEST(Parse, KeepsUnknownOpcodesAndModifiers) {
  const Instruction strange = parse_instruction("frobnicate.quickly.u32 %r1, %r2;");
  EXPECT_EQ(strange.opcode, Opcode::Unknown);
  EXPECT_THAT(strange.modifiers, ElementsAre(Modifier::Unknown));
  EXPECT_EQ(strange.text, "frobnicate.quickly.u32");
}

TEST(Parse, ReadsDoubleColonSuffixes) {
  const Instruction copy = parse_instruction(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%rd1], %r2, "
      "[%r3];");
  EXPECT_TRUE(copy.has(Modifier::SharedCluster));
  EXPECT_TRUE(copy.has(Modifier::MbarrierCompleteTxBytes));
}

TEST(Parse, ReadsIntegersInEveryRadix) {
  const auto value = [](const std::string& literal) {
    return parse_instruction("mov.b64 %rd1, " + literal + ";").operands[1].value;
  };
  EXPECT_EQ(value("42"), 42);
  EXPECT_EQ(value("0x2aU"), 42);
  EXPECT_EQ(value("052"), 42);
  EXPECT_EQ(value("0b101010"), 42);
  EXPECT_EQ(value("0"), 0);
  EXPECT_EQ(value("-1"), -1);
  EXPECT_EQ(value("-9223372036854775808"), INT64_MIN);
  EXPECT_EQ(value("18446744073709551615"), -1);
  EXPECT_EQ(value("WARP_SZ"), 32);
}

TEST(Parse, EvaluatesConstantExpressions) {
  const auto value = [](const std::string& expression) {
    return parse_instruction("mov.b64 %rd1, " + expression + ";").operands[1].value;
  };
  EXPECT_EQ(value("1+2*3"), 7);
  EXPECT_EQ(value("(1+2)*3"), 9);
  EXPECT_EQ(value("1<<4|3"), 19);
  EXPECT_EQ(value("7 % 4"), 3);
  EXPECT_EQ(value("-8>>1"), -4);
  EXPECT_EQ(value("~0 == -1 ? 5 : 6"), 5);
  EXPECT_EQ(value("(.u64)-1 > 0"), 1);
  EXPECT_EQ(value("-1 > 0"), 0);
  EXPECT_EQ(value("(-9223372036854775807-1)/-1"), INT64_MIN);
  EXPECT_EQ(value("!0 && 3 != 4"), 1);
}

TEST(Parse, ReadsFloats) {
  const Operand f32 = parse_instruction("mov.f32 %f1, 0f3FC00000;").operands[1];
  EXPECT_TRUE(f32.is_f32);
  EXPECT_EQ(f32.value, 0x3FC00000);
  const Operand f64 = parse_instruction("mov.f64 %rd1, 0d3FF8000000000000;").operands[1];
  EXPECT_FALSE(f64.is_f32);
  EXPECT_EQ(std::bit_cast<double>(f64.value), 1.5);
  const Operand decimal = parse_instruction("mov.f32 %f1, -1.5;").operands[1];
  EXPECT_EQ(decimal.kind, Operand::Kind::Float);
  EXPECT_EQ(std::bit_cast<double>(decimal.value), -1.5);
  EXPECT_EQ(parse_instruction("mov.f32 %f1, -0f3F800000;").operands[1].value, 0xBF800000);
}

TEST(Parse, ReadsPairsSinksAndNegations) {
  const Instruction shfl = parse_instruction("shfl.sync.down.b32 %r1|%p1, %r2, 16, 31, -1;");
  EXPECT_EQ(shfl.operands[0].kind, Operand::Kind::Pair);
  EXPECT_EQ(shfl.operands[0].elements.size(), 2U);
  const Instruction setp = parse_instruction("setp.lt.and.s32 %p1|_, %r1, 5, !%p2;");
  EXPECT_EQ(setp.operands[0].elements[1].kind, Operand::Kind::None);
  EXPECT_TRUE(setp.operands[3].negated);
}

TEST(Parse, ReadsGuards) {
  const Instruction mov = parse_instruction("@!%p2 mov.u32 %r1, 5;");
  EXPECT_TRUE(mov.guarded);
  EXPECT_TRUE(mov.guard_negated);
  EXPECT_EQ(mov.guard, 2U);
}

TEST(Parse, ReadsSpecialRegisters) {
  EXPECT_EQ(parse_instruction("mov.u32 %r1, %tid.x;").operands[1].special, SpecialRegister::TidX);
  EXPECT_EQ(parse_instruction("mov.u32 %r1, %laneid;").operands[1].special,
            SpecialRegister::Laneid);
  const Operand tid = parse_instruction("mov.v4.u32 {%r1,%r2,%r3,%r4}, %tid;").operands[1];
  ASSERT_EQ(tid.elements.size(), 4U);
  EXPECT_EQ(tid.elements[2].special, SpecialRegister::TidZ);
  EXPECT_EQ(tid.elements[3].kind, Operand::Kind::Integer);
  EXPECT_EQ(parse_instruction("mov.u32 %r1, %pm0;").operands[1].special, SpecialRegister::None);
}

TEST(Parse, ReadsRangesWhosePrefixEndsInADigit) {
  const Function function = parse_body(".reg .b32 t1<3>, t<3>; mov.b32 t12, t2;");
  EXPECT_EQ(function.instructions[0].operands[0].index, 2U);
  EXPECT_EQ(function.instructions[0].operands[1].index, 5U);
}

TEST(Parse, ReadsTexturesWithResidency) {
  const Instruction tex =
      parse_instruction("tex.2d.v4.f32.f32 {%f1,%f2,%f3,%f4}|%p1, [%rd1, {%f5,%f6}];");
  EXPECT_EQ(tex.operands[0].kind, Operand::Kind::Pair);
  EXPECT_EQ(tex.operands[0].elements[0].elements.size(), 4U);
}

TEST(Parse, ReadsTensorAddresses) {
  const Instruction copy = parse_instruction(
      "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%r1], "
      "[%rd1, {%r2, %r3}], [%r4];");
  ASSERT_EQ(copy.operands.size(), 3U);
  ASSERT_EQ(copy.operands[1].elements.size(), 2U);
  EXPECT_EQ(copy.operands[1].elements[1].kind, Operand::Kind::Vector);
  EXPECT_TRUE(copy.has(Modifier::Dim2));
}

TEST(Parse, ReadsPartsOfRegisters) {
  const Instruction vadd = parse_instruction("vadd.s32.u32.s32 %r1, %r2.b0, %r3.h1;");
  EXPECT_EQ(vadd.operands[1].part, Part::B0);
  EXPECT_EQ(vadd.operands[2].part, Part::H1);
}

TEST(Parse, ReadsVectorRegisters) {
  const Function function =
      parse_body(".reg .v4 .f32 %v; ld.global.v4.f32 %v, [4096]; add.f32 %v.x, %v.y, %v.w;");
  ASSERT_EQ(function.instructions.size(), 2U);
  EXPECT_EQ(function.instructions[0].operands[0].elements.size(), 4U);
  EXPECT_EQ(function.instructions[1].operands[2].index, 3U);
  EXPECT_EQ(function.instructions[0].operands[1].elements[0].value, 4096);
}

TEST(Parse, ResolvesParametersAndVariables) {
  const Function function = parse_body(
      ".reg .b64 %rd<2>; .shared .align 16 .b8 tile[1024];\n"
      "ld.param.u64 %rd1, [k_param_0];\nmov.u64 %rd1, tile+16;\n");
  ASSERT_EQ(function.variables.size(), 2U);
  EXPECT_EQ(function.variables[1].bytes, 1024U);
  EXPECT_EQ(function.variables[1].align, 16U);
  EXPECT_EQ(function.variables[1].space, Space::Shared);
  const Operand& param = function.instructions[0].operands[1];
  EXPECT_EQ(param.elements[0].kind, Operand::Kind::Local);
  EXPECT_EQ(param.elements[0].index, 0U);
  EXPECT_EQ(function.instructions[1].operands[1].index, 1U);
  EXPECT_EQ(function.instructions[1].operands[1].value, 16);
}

TEST(Parse, InnerScopesHideOuterNames) {
  const Function function = parse_body(
      ".reg .b32 %r<3>, p; mov.u32 p, 1; { .reg .b32 p, %r<2>; mov.u32 p, 2; mov.u32 %r1, 3; "
      "mov.u32 %r2, 4; } mov.u32 p, 5;");
  const auto target = [&](std::size_t i) { return function.instructions[i].operands[0].index; };
  EXPECT_EQ(target(0), 3U);
  EXPECT_EQ(target(1), 4U);
  EXPECT_EQ(target(2), 6U);
  EXPECT_EQ(target(3), 2U);  // The inner range has no %r2.
  EXPECT_EQ(target(4), 3U);
}

TEST(Parse, LabelsBelongToTheirScope) {
  const Function function = parse_body(
      "bra DONE; { bra DONE; DONE: ret; } { bra DONE; ret; DONE: } DONE: bra.uni END; END:");
  const auto target = [&](std::size_t i) { return function.instructions[i].operands[0].index; };
  EXPECT_EQ(target(0), 5U);
  EXPECT_EQ(target(1), 2U);
  EXPECT_EQ(target(3), 5U);
  EXPECT_EQ(target(5), 6U);  // One past the last instruction.
}

TEST(Parse, ReadsBranchTables) {
  const Function function = parse_body(
      ".reg .b32 %r<2>; A: ret; B: ret;\n$L_brx_0: .branchtargets A, B, C;\n"
      "brx.idx %r1, $L_brx_0; C: ret;");
  const Instruction& brx = function.instructions[2];
  EXPECT_EQ(brx.opcode, Opcode::Brx);
  EXPECT_EQ(brx.operands.size(), 1U);
  ASSERT_EQ(brx.targets, 0);
  EXPECT_THAT(function.branch_targets[0], ElementsAre(0U, 1U, 3U));
}

TEST(Parse, ReadsCalls) {
  const Module module = parse_module(R"(
.extern .func (.param .b32 func_retval0) vprintf (.param .b64 a, .param .b64 b);
.func nothing;
.func nothing { ret; }
.visible .func (.param .b32 r) f(.param .b64 p) .noreturn {
  .reg .b32 %r<2>; .reg .b64 %rd<2>;
  { // callseq 0, 0
  .param .b64 param0; .param .b64 param1; .param .b32 retval0;
  call.uni (retval0), vprintf, (param0, param1);
  ld.param.b32 %r1, [retval0+0];
  }
  prototype_2 : .callprototype (.param .b32 _) _ (.param .b64 _);
  targets: .calltargets f;
  { .param .b64 param0; .param .b32 retval0;
  call (retval0), %rd1, (param0), prototype_2;
  call (retval0), %rd1, (param0), targets; }
  call nothing;
  call.uni nothing, ();
  ret;
}
)");
  const Function* f = module.find_function("f");
  ASSERT_NE(f, nullptr);
  EXPECT_TRUE(f->no_return);
  ASSERT_EQ(f->calls.size(), 5U);
  EXPECT_EQ(module.symbols[f->calls[0].target.index].name, "vprintf");
  EXPECT_EQ(f->calls[0].arguments.size(), 2U);
  EXPECT_EQ(f->calls[0].returns.size(), 1U);
  EXPECT_EQ(f->calls[1].target.kind, Operand::Kind::Register);
  ASSERT_EQ(f->calls[1].prototype, 0);
  EXPECT_EQ(f->prototypes[0].parameters[0].bytes, 8U);
  ASSERT_EQ(f->calls[2].prototype, 1);
  EXPECT_EQ(f->prototypes[1].returns[0].bytes, 4U);
  EXPECT_TRUE(f->calls[3].arguments.empty());
  EXPECT_FALSE(module.find_function("vprintf")->has_body);
  EXPECT_TRUE(module.find_function("nothing")->has_body);
}

TEST(Parse, ReadsSignaturesAndDirectives) {
  const Module module = parse_module(R"(
.visible .entry k(
  .param .align 8 .b8 k_param_0[200],
  .param .u64 .ptr .global .align 16 k_param_1,
  .param .u64 .ptr k_param_2
)
.maxntid 256, 2
.reqntid 128
.minnctapersm 2
.maxnreg 64
.explicitcluster
.reqnctapercluster 2, 1, 1
.maxclusterrank 8
{ .pragma "nounroll"; ret; }
)");
  const Function* k = module.find_function("k");
  ASSERT_NE(k, nullptr);
  EXPECT_TRUE(k->is_entry);
  ASSERT_EQ(k->parameters.size(), 3U);
  EXPECT_EQ(k->parameters[0].bytes, 200U);
  EXPECT_EQ(k->parameters[0].align, 8U);
  EXPECT_EQ(k->parameters[1].bytes, 8U);
  EXPECT_EQ(k->parameters[1].align, 8U);
  EXPECT_THAT(k->max_threads, testing::Optional(ElementsAre(256U, 2U, 1U)));
  EXPECT_THAT(k->required_threads, testing::Optional(ElementsAre(128U, 1U, 1U)));
  EXPECT_THAT(k->cluster, testing::Optional(ElementsAre(2U, 1U, 1U)));
  EXPECT_EQ(k->min_blocks_per_sm, 2U);
  EXPECT_EQ(k->max_registers, 64U);
}

TEST(Parse, TracksSourceLinesThroughInlining) {
  const Module module = parse_module(R"(
.entry k() {
  .loc 1 19 3
  ret;
  .loc 2 261 5, function_name $L__info_string0, inlined_at 1 19 3
  ret;
  .loc 3 92 9, function_name $L__info_string1+8, inlined_at 2 261 5
  ret;
  .loc 1 0 3
  ret;
}
.file 1 "a.cu"
.file 3 "c.h", 1700000000, 512
.section .debug_str {
$L__info_string0: .b8 95,90,0
}
)");
  const auto& code = module.find_function("k")->instructions;
  EXPECT_EQ(code[0].source, (SourceLine{1, 19}));
  EXPECT_EQ(code[0].caller, (SourceLine{1, 19}));
  EXPECT_EQ(code[1].source, (SourceLine{2, 261}));
  EXPECT_EQ(code[1].caller, (SourceLine{1, 19}));
  EXPECT_EQ(code[2].source, (SourceLine{3, 92}));
  EXPECT_EQ(code[2].caller, (SourceLine{1, 19}));
  EXPECT_EQ(code[3].source, (SourceLine{3, 92}));
  EXPECT_EQ(module.files[3], "c.h");
  EXPECT_EQ(code[0].ptx_line, 7U);
}

TEST(Parse, AliasesShareAFunction) {
  const Module module = parse_module(R"(
.visible .func g;
.visible .func f { ret; }
.alias g, f;
)");
  EXPECT_EQ(module.find_function("g"), module.find_function("f"));
}

TEST(ParseError, NamesLineAndToken) {
  EXPECT_EQ(body_error("mov.u32 5 6;"), "line 5: expected ';', found '6'");
  EXPECT_EQ(body_error("add.u32 %r1, %r2;"), "line 5: register is not declared: %r1");
  EXPECT_EQ(body_error("bra NOWHERE;"), "line 5: label is not defined: NOWHERE");
  EXPECT_EQ(body_error("mov.u64 x, 1;"), "line 5: name is not declared: x");
  EXPECT_EQ(body_error("@%p1 ret;"), "line 5: not a predicate register: %p1");
  EXPECT_EQ(body_error(".reg .b32 %r<5"), "line 6: expected '>', found '}'");
  EXPECT_THAT(body_error(".reg .wide %r<5>;"), HasSubstr("expected a type, found '.wide'"));
  EXPECT_EQ(body_error("mov.f32 1, 0f123;"), "line 5: expected 8 hexadecimal digits after 0f");
  EXPECT_EQ(body_error("mov.b32 1, 99999999999999999999;"), "line 5: integer does not fit 64 bits");
  EXPECT_EQ(body_error("mov.b32 1, 1/0;"), "line 5: division by zero in a constant expression");
  EXPECT_EQ(error_of(".entry k() {"),
            "line 4: expected a statement or '}', found the end of the text");
  EXPECT_EQ(error_of(".func f { ret; } .func f { ret; }"), "line 4: function is defined twice: f");
  EXPECT_EQ(error_of("/* open"), "line 4: comment is not closed");
  EXPECT_EQ(error_of(".global .u64 x = nowhere;"), "line 4: name is not declared: nowhere");
}

TEST(ParseError, LabelsOfABrokenInstructionAreLeftAlone) {
  EXPECT_EQ(body_error("A: bra A B;"), "line 5: expected ';', found 'B'");
}

TEST(ParseError, RefusesTextWithoutATarget) {
  EXPECT_EQ(parse(".version 9.0\n").error().message(),
            "line 2: expected '.target', found the end of the text");
  EXPECT_EQ(parse(".version 9.0\n.version 9.0\n.target sm_90\n").error().message(),
            "line 2: expected '.target', found '.version'");
}

TEST(ParseError, RefusesTextWithoutAVersion) {
  EXPECT_EQ(parse("").error().message(), "line 1: expected '.version', found the end of the text");
}

}  // namespace
}  // namespace cuco::ptx
