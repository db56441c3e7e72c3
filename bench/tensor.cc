// SPDX-License-Identifier: Apache-2.0
// Speed of mma.sync on the virtual GPU, which rounds bit for bit as an H200 does, against the same
// products in plain f32 C++. One core.
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "best_of.h"
#include "support/ptx_harness.h"

namespace cuco::vgpu {
namespace {

constexpr unsigned kTurns = 200;
constexpr unsigned kWarps = 32;
constexpr double kMacs = 2048.0 * 8 * kTurns * kWarps;

/// 32x32 results, K = 16, as a compiler vectorises them.
[[gnu::noinline]] void native_products(const float* a, const float* b, float* c, unsigned turns) {
  for (unsigned t = 0; t < turns; ++t) {
    for (int i = 0; i < 32; ++i) {
      for (int k = 0; k < 16; ++k) {
        for (int j = 0; j < 32; ++j)
          c[i * 32 + j] += a[i * 16 + k] * b[k * 32 + j];
      }
    }
  }
}

int run(const std::string& root) {
  const auto description = hardware::load_gpu_description("h200", root);
  if (!description) return 1;
  std::ifstream file(root + "/bench/data/mma.ptx");
  std::ostringstream text;
  text << file.rdbuf();
  auto loaded = Harness::load(text.str(), *description);
  if (!loaded) {
    fmt::print("{}\n", loaded.error().message());
    return 1;
  }
  Harness& gpu = **loaded;
  // Pairs of bf16 between 1 and 2, of both signs.
  std::vector<std::uint32_t> in(16 * 128);
  for (std::size_t i = 0; i < in.size(); ++i) {
    in[i] = 0x3F80'3F80U | (static_cast<std::uint32_t>(i * 2654435761U) & 0x807F'807FU);
  }
  const Address from = gpu.upload<std::uint32_t>(in);
  const Address to = gpu.allocate(std::uint64_t{128} * 128 * kWarps);
  HarnessLaunch launch{.grid = {kWarps / 4, 1, 1}, .block = {128, 1, 1}};
  launch.instruction_budget = 0;
  bool right = true;
  const double virtual_seconds = bench::best_of(20, [&] {
    const auto result = gpu.run("mma_bf16", launch, from, to, kTurns);
    right = right && result && result->ok();
  });
  std::vector<float> a(32 * 16, 1.0F);
  std::vector<float> b(16 * 32, 1.0F);
  std::vector<float> c(32 * 32);
  const double native_seconds =
      bench::best_of(20, [&] { native_products(a.data(), b.data(), c.data(), kTurns * kWarps); });
  fmt::print("{}; best of 20, thread CPU time, one core\n", bench::machine());
  fmt::print("mma.sync bf16  {:.2f} GMAC/s  native f32 {:.2f} GMAC/s  slowdown {:.1f}x{}\n",
             1e-9 * kMacs / virtual_seconds, 1e-9 * kMacs / native_seconds,
             virtual_seconds / native_seconds, right ? "" : "  FAILED");
  return right ? 0 : 1;
}

}  // namespace
}  // namespace cuco::vgpu

int main(int argc, char** argv) {
  return cuco::vgpu::run(argc > 1 ? argv[1] : ".");
}
