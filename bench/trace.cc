// SPDX-License-Identifier: Apache-2.0
// What it costs to record which blocks touch which bytes: a tiled GEMM without an observer, and
// with the recorder. usage: bench_trace [--root FOLDER] [--rounds N]
//
// Both take turns in every round and the best of each counts: on a busy machine both suffer alike,
// so the ratio is worth more than the times.
#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "best_of.h"
#include "support/ptx_harness.h"
#include "vcluster/core/operation.h"
#include "vcluster/watch/block_trace.h"

namespace cuco::vcluster {
namespace {

constexpr int kSide = 512;
constexpr std::uint64_t kBytes = std::uint64_t{kSide} * kSide * sizeof(float);

std::string read_text(const std::string& path) {
  std::ifstream in(path);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

double seconds(const std::string& ptx, const hardware::GpuDescription& gpu, bool records) {
  BlockTrace trace;
  vgpu::Environment environment;
  if (records) environment.observer = &trace;
  auto harness = vgpu::Harness::load(ptx, gpu, environment);
  if (!harness) std::exit(1);
  const std::vector<float> values(std::size_t{kSide} * kSide, 1.0F);
  const auto a = (*harness)->upload<float>(values);
  const auto b = (*harness)->upload<float>(values);
  const auto c = (*harness)->allocate(kBytes);
  trace.know((*harness)->memory(), [&](std::uint64_t address) -> std::optional<BlockTrace::Held> {
    for (const auto& [number, base] : {std::pair(1U, a), std::pair(2U, b), std::pair(3U, c)}) {
      if (address >= base && address < base + kBytes)
        return BlockTrace::Held{base, {number, kBytes, 0, 0}};
    }
    return std::nullopt;
  });
  vgpu::HarnessLaunch launch{.grid = {16, 16, 1}, .block = {32, 32, 1}};
  launch.instruction_budget = 0;
  KernelOperation kernel;
  kernel.grid = launch.grid;
  kernel.block = launch.block;
  vgpu::Program& program = (*harness)->program();
  const auto index = program.find_kernel("gemm_tiled");
  if (records) trace.start_grid(Work(), 0, 1, kernel, program.kernel_info(index.value_or(0)));
  const double time = bench::cpu_seconds_of([&] {
    const auto result = (*harness)->run("gemm_tiled", launch, kSide, a, b, c);
    if (!result || !result->ok()) std::exit(1);
  });
  if (records && trace.record().maps.size() != 3) std::exit(1);  // it did look
  return time;
}

int run(int argc, char** argv) {
  std::string root = ".";
  int rounds = 5;
  for (int i = 1; i + 1 < argc; i += 2) {
    if (std::string_view(argv[i]) == "--root") root = argv[i + 1];
    if (std::string_view(argv[i]) == "--rounds") rounds = std::atoi(argv[i + 1]);
  }
  const std::string ptx = read_text(root + "/bench/data/kernels.ptx");
  const auto gpu = hardware::load_gpu_description(root + "/hardware/h200.toml", {});
  if (!gpu || ptx.empty()) {
    fmt::print("run it from the repository, or give --root\n");
    return 1;
  }
  double off = 1e30;
  double on = 1e30;
  for (int round = 0; round < rounds; ++round) {
    off = std::min(off, seconds(ptx, *gpu, false));
    on = std::min(on, seconds(ptx, *gpu, true));
  }
  fmt::print("tiled GEMM, {} x {}, one core; {}\n", kSide, kSide, bench::machine());
  fmt::print("not recorded {:.1f} ms, recorded {:.1f} ms: {:.2f}x the time\n", 1e3 * off, 1e3 * on,
             on / off);
  return 0;
}

}  // namespace
}  // namespace cuco::vcluster

int main(int argc, char** argv) {
  return cuco::vcluster::run(argc, argv);
}
