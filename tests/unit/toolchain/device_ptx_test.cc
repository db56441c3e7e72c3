// SPDX-License-Identifier: Apache-2.0
#include "toolchain/device_ptx.h"

#include <string>

#include <gtest/gtest.h>

namespace cuco::toolchain {
namespace {

constexpr const char* kNvccMark = "43_GLOBAL__N__10b1a5f6_10_program_cu_5e13d1c4";
constexpr const char* kNvrtcMark = "48_GLOBAL__N__00000000_10_program_cu_74290c8e_1863";

/// A kernel template's instance and a variable, as both compilers write them.
std::string module(const std::string& mark, const std::string& body, const std::string& extra) {
  const std::string name = "_ZN" + mark + "4silu" + "IfEEvPT_i";
  return "//\n// Generated\n//\n\n.version 9.0\n.target sm_90\n.address_size 64\n\n" + extra +
         ".global .align 4 .u32 counter;\n\n.entry " + name + "(\n\t.param .u64 " + name +
         "_param_0,\n\t.param .u32 " + name + "_param_1\n)\n{\n" + body +
         "\tret;\n\n}\n\n\t.file\t1 "
         "\"program.cu\"\n\t.section\t.debug_str\n\t{\n$L__info_string0:\n"
         ".b8 95\n\n\t}\n";
}

const std::string kBody =
    "\t.reg .b32 \t%r<3>;\n\t.loc\t1 35 0\n\tmov.u32 \t%r1, %tid.x;\n$L__BB0_2:\n"
    "\tst.global.u32 \t[counter], %r1;\n";
const std::string kJunk = ".global .align 1 .u8 _ZN4cuda3std9is_same_vE = 1;\n";

TEST(DevicePtx, InstancesOfTemplatesAreNamedAsInTheSource) {
  EXPECT_EQ(template_kernels(module(kNvccMark, kBody, "")),
            std::vector<std::string>{"silu<float>"});
}

TEST(DevicePtx, TheSameCodeIsRecognised) {
  const std::string nvcc = module(kNvccMark, kBody, "");
  std::string body = kBody;
  body.replace(body.find("BB0_2"), 5, "BB7_2");
  body.replace(body.find("35 0"), 4, "35 0, function_name $L__info_string0, inlined_at 1 3 5");
  const auto fitted = fit_ptx(module(kNvrtcMark, body, kJunk), nvcc);
  ASSERT_TRUE(fitted);
  EXPECT_EQ(fitted->find("is_same_v"), std::string::npos);
  EXPECT_EQ(fitted->find("74290c8e"), std::string::npos);
  EXPECT_NE(fitted->find(".version 9.0"), std::string::npos);
  EXPECT_NE(fitted->find("debug_str"), std::string::npos);
  EXPECT_EQ(first_difference(*fitted, nvcc), std::nullopt);
}

TEST(DevicePtx, AMarkBehindAnotherIsNotReadWithItsDigits) {
  const auto with_hash = [](const std::string& hash) {
    const std::string rest = hash + "_10_program_cu_5e13d1c4";
    const std::string mark = "43_GLOBAL__N__" + rest;
    return module(
        mark, kBody + "\tst.shared.u8 \t[_ZZN41_INTERNAL_" + rest + mark + "4lastEv], 0;\n", "");
  };
  const auto fitted = fit_ptx(with_hash("5f4343e4"), with_hash("2715bcfd"));
  ASSERT_TRUE(fitted);
  EXPECT_EQ(first_difference(*fitted, with_hash("2715bcfd")), std::nullopt);
}

TEST(DevicePtx, OtherCodeFitsButDiffers) {
  const std::string nvcc = module(kNvccMark, kBody, "");
  const auto fitted = fit_ptx(module(kNvrtcMark, kBody + "\tmov.u32 \t%r2, 1;\n", kJunk), nvcc);
  ASSERT_TRUE(fitted);
  EXPECT_NE(first_difference(*fitted, nvcc), std::nullopt);
}

TEST(DevicePtx, WhatTheHostReliesOnMustBeThere) {
  const std::string nvcc = module(kNvccMark, kBody, "");
  std::string other = module(kNvrtcMark, kBody, "");
  other.replace(other.find(".param .u32"), 11, ".param .u64");
  EXPECT_FALSE(fit_ptx(other, nvcc)) << "another parameter";
  // Not used by the kernel any more, but the host has registered it.
  const std::string unused = "\t.reg .b32 \t%r<3>;\n";
  const auto fitted = fit_ptx(module(kNvrtcMark, unused, ""), nvcc);
  ASSERT_TRUE(fitted);
  EXPECT_NE(fitted->find("counter"), std::string::npos);
  std::string lacks = module(kNvrtcMark, unused, "");
  lacks.erase(lacks.find(".global .align 4 .u32 counter;"), 31);
  EXPECT_FALSE(fit_ptx(lacks, nvcc)) << "a variable is missing";
  EXPECT_FALSE(fit_ptx(nvcc + ".visible .entry more(\n)\n{\n\tret;\n}\n", nvcc)) << "a new kernel";
}

TEST(DevicePtx, TheSameCodeHasOneText) {
  const auto with_hash = [](const std::string& hash, const std::string& body) {
    return module("43_GLOBAL__N__" + hash + "_10_program_cu_5e13d1c4", body, kJunk);
  };
  std::string body = kBody;
  body.replace(body.find("BB0_2"), 5, "BB7_2");
  body.replace(body.find("35 0"), 4, "99 7");
  const std::string text = canonical_ptx(with_hash("10b1a5f6", kBody));
  EXPECT_EQ(text, canonical_ptx(with_hash("2715bcfd", body)));
  EXPECT_NE(text, canonical_ptx(with_hash("2715bcfd", body + "\tmov.u32 \t%r2, 1;\n")));
  EXPECT_NE(text, canonical_ptx(with_hash("10b1a5f6", kBody) + ".alias one, other;\n"))
      << "what we do not know counts";
}

TEST(DevicePtx, OnlyTheFilesOwnNumberGoes) {
  EXPECT_EQ(without_module_number("_ZN43_GLOBAL__N__3bb4bf64_10_program_cu_cuco_run1kEv"),
            "_ZN43_GLOBAL__N__00000000_10_program_cu_cuco_run1kEv");
  EXPECT_EQ(without_module_number("_INTERNAL_3bb4bf64_10_program_cu_5e13d1c4_x"),
            "_INTERNAL_00000000_10_program_cu_00000000_x");
  const std::string own =
      "_GLOBAL__N__3bb4bf64_10_program_cu_run _GLOBAL__N__00000001_10_program_cu_run";
  EXPECT_EQ(without_module_number(own), own) << "a program that has such names itself";
}

}  // namespace
}  // namespace cuco::toolchain
