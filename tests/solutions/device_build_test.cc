// SPDX-License-Identifier: Apache-2.0
//
// A candidate that differs only in device code has only that compiled: by NVRTC where it makes what
// nvcc makes, else by nvcc's own compiler of device code. The table says what each took.
#include <chrono>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "toolchain/object_builder.h"

namespace cuco::judge {
namespace {

const system::Path kRoot = CUCO_SOURCE_DIR;

toolchain::BuildSettings settings() {
  toolchain::BuildSettings wanted;
  wanted.cache = system::Path(CUCO_BINARY_DIR) / "judge-cache/builds";
  wanted.tier = system::Tier::Own;
  wanted.architecture = "90";
  return wanted;
}

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

class DeviceCode : public testing::TestWithParam<const char*> {};

TEST_P(DeviceCode, IsCompiledAlone) {
  const auto text = system::read_file(kRoot / GetParam());
  ASSERT_TRUE(text) << text.error().message();
  auto begin = std::chrono::steady_clock::now();
  const auto whole = toolchain::build_candidate(*text, settings());
  ASSERT_TRUE(whole) << whole.error().message();
  ASSERT_TRUE(std::holds_alternative<system::Path>(*whole));
  const double by_nvcc = seconds_since(begin);

  // The same program with another comment: as good as any other change of device code. The first
  // one also compares what the two compilers make of the original; the second does not have to.
  toolchain::BuildSettings variant = settings();
  variant.device_only = true;
  for (const int round : {1, 2}) {
    begin = std::chrono::steady_clock::now();
    const auto built =
        toolchain::build_candidate(fmt::format("{}// variant {}\n", *text, round), variant);
    ASSERT_TRUE(built) << built.error().message();
    const auto* path = std::get_if<system::Path>(&*built);
    ASSERT_NE(path, nullptr);
    const bool by_nvrtc = path->string().ends_with(".nvrtc.so");
    EXPECT_TRUE(by_nvrtc || path->string().ends_with(".ptx.so")) << "all was built again";
    fmt::print("  {:<55} all {:6.2f} s (0: from the cache), by {} {:5.2f} s{}\n", GetParam(),
               by_nvcc, by_nvrtc ? "nvrtc" : "nvcc -ptx", seconds_since(begin),
               round == 1 ? " with the comparison" : "");
    // Not from the cache the next time.
    std::filesystem::remove(*path);
  }
}

INSTANTIATE_TEST_SUITE_P(everyday,
                         DeviceCode,
                         testing::Values("workloads/silu_and_mul/program.cu"));
INSTANTIATE_TEST_SUITE_P(all,
                         DeviceCode,
                         testing::Values("workloads/gemm_allgather/program.cu",
                                         "workloads/flash_attention_cp/program.cu",
                                         "workloads/moe_dispatch_combine/program.cu",
                                         "workloads/kv_transfer/program.cu",
                                         "workloads/fused_add_rmsnorm/program.cu",
                                         "workloads/merge_attn_states/program.cu",
                                         "tests/solutions/gemm_allgather/one_kernel_lsa.cu",
                                         "tests/solutions/gemm_allgather/fused_lsa.cu",
                                         "tests/solutions/kv_transfer/fused_lsa.cu",
                                         "tests/solutions/kv_transfer/gin_chunks.cu",
                                         "tests/solutions/flash_attention_cp/prefetch_lsa.cu",
                                         "tests/solutions/moe_dispatch_combine/lsa_dispatch.cu"));

}  // namespace
}  // namespace cuco::judge
