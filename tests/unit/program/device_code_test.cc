// SPDX-License-Identifier: Apache-2.0
#include "program/device_code.h"

#include <algorithm>
#include <string>

#include <gtest/gtest.h>

namespace cuco::program {
namespace {

const std::string kDeviceProgram = R"(// A comment.
#include <cuda_runtime.h>

namespace {

constexpr int kTile = 4;
struct Shape {
  int n;
};

__device__ float twice(float x) { return 2 * x; }

template <typename T>
__global__ void __launch_bounds__(256) scale(T* x, int n) {
  if (threadIdx.x < n) x[threadIdx.x] = twice(x[threadIdx.x]);  // in place
}

__host__ __device__ int both(int x) { return x + 1; }

int launch(float* x, const Shape& s) {
  scale<<<1, kTile>>>(x, both(s.n));
  return 0;
}

}  // namespace

extern "C" int cuco_run(void* x) {
  return launch((float*)x, {3});
}
)";

std::string replaced(std::string text, std::string_view from, std::string_view to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

std::string host_of(const std::string& text) {
  const auto split = split_device_code(text);
  return split ? split->host : "in doubt";
}

TEST(DeviceCode, TheDeviceSeesNoFunctionOfTheHost) {
  const auto split = split_device_code(kDeviceProgram);
  ASSERT_TRUE(split);
  EXPECT_EQ(split->device.find("launch("), std::string::npos);
  EXPECT_EQ(split->device.find("cuco_run"), std::string::npos);
  EXPECT_NE(split->device.find("int both(int x) { return x + 1; }"), std::string::npos);
  EXPECT_NE(split->device.find("struct Shape"), std::string::npos);
  // Lines are where they were: they are what a profile and a finding name.
  EXPECT_EQ(std::ranges::count(split->device, '\n'), std::ranges::count(kDeviceProgram, '\n'));
  EXPECT_EQ(split->preamble, "// A comment.\n#include <cuda_runtime.h>\n\n");
}

TEST(DeviceCode, OnlyDeviceCodeMayDiffer) {
  const std::string host = host_of(kDeviceProgram);
  EXPECT_EQ(host.find("twice(x["), std::string::npos);
  EXPECT_NE(host.find("both"), std::string::npos);
  // Bodies of kernels, whole functions of the device, comments, layout.
  EXPECT_EQ(host_of(replaced(kDeviceProgram, "= twice(x[threadIdx.x])", "= x[threadIdx.x] * 2")),
            host);
  EXPECT_EQ(
      host_of(replaced(kDeviceProgram, "float twice(float x)", "float twice(double x, int = 0)")),
      host);
  EXPECT_EQ(host_of(replaced(kDeviceProgram, "// in place", "// in its place\n")), host);
  EXPECT_EQ(host_of(replaced(kDeviceProgram, "  if (threadIdx", "#pragma unroll\n  if (threadIdx")),
            host);
  EXPECT_EQ(host_of(replaced(kDeviceProgram, "__host__ __device__ int both",
                             "__device__ int more() { return 1; }\n__host__ __device__ int both")),
            host);
}

TEST(DeviceCode, AnythingElseIsTheHostsToo) {
  const std::string host = host_of(kDeviceProgram);
  EXPECT_NE(host_of(replaced(kDeviceProgram, "kTile = 4", "kTile = 8")), host);
  EXPECT_NE(host_of(replaced(kDeviceProgram, "(T* x, int n)", "(T* x, int m)")), host);
  EXPECT_NE(host_of(replaced(kDeviceProgram, "__launch_bounds__(256)", "__launch_bounds__(128)")),
            host);
  EXPECT_NE(host_of(replaced(kDeviceProgram, "return x + 1", "return x + 2")), host);
  EXPECT_NE(host_of(replaced(kDeviceProgram, "{3}", "{4}")), host);
  EXPECT_NE(host_of(replaced(kDeviceProgram, "<cuda_runtime.h>", "<cuda_runtime.h>\n#define A 1")),
            host);
  EXPECT_NE(host_of(replaced(kDeviceProgram, "  int n;", "  int n, m;")), host);
}

TEST(DeviceCode, DoubtIsNoAnswer) {
  const auto doubtful = [](std::string_view from, std::string_view to) {
    return !split_device_code(replaced(kDeviceProgram, from, to));
  };
  EXPECT_TRUE(doubtful("return 2 * x;", "\n#define kTile 8\nreturn 2 * x;"));
  EXPECT_TRUE(doubtful("return 2 * x;", "return __LINE__ * x;"));
  EXPECT_TRUE(doubtful("return 2 * x;", "\n#ifdef __CUDACC_RTC__\n#endif\nreturn 2 * x;"));
  EXPECT_TRUE(doubtful("2 * x; }", "2 * x; "));
  EXPECT_TRUE(doubtful("kTile = 4;", "kTile = 4; // \\\n#define X"));
  EXPECT_TRUE(doubtful("kTile = 4;", "kTile = 4; auto raw = R\"(})\";"));
  EXPECT_TRUE(doubtful("kTile = 4;", "kTile = 4;\n%:define X"));
}

TEST(DeviceCode, WhatTheHostCanAskAboutIsItsOwn) {
  for (const char* head :
       {"__device__ constexpr auto twice(float x)", "__device__ auto twice(float x)",
        "__device__ constexpr float twice(float x)", "__device__ decltype(auto) twice(float x)",
        "__device__ float twice(float x) noexcept(noexcept(1))"}) {
    const std::string one = replaced(kDeviceProgram, "__device__ float twice(float x)", head);
    const std::string other = replaced(one, "return 2 * x;", "return 3 * x;");
    EXPECT_NE(host_of(one), host_of(other)) << head;
  }
  EXPECT_EQ(host_of(replaced(kDeviceProgram, "return 2 * x;", "return 3 * x;")),
            host_of(kDeviceProgram));
}

TEST(DeviceCode, LiteralsWithAPrefixAndFriendsAreDoubt) {
  for (const char* text : {"wchar_t c = L'\"';", "const char* t = u8\"x\";",
                           "const char* t = R\"(x)\";", "struct S { friend int f(S); };"}) {
    EXPECT_EQ(host_of(replaced(kDeviceProgram, "constexpr int kTile = 4;",
                               std::string("constexpr int kTile = 4;\n") + text)),
              "in doubt")
        << text;
  }
}

}  // namespace
}  // namespace cuco::program
