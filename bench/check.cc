// SPDX-License-Identifier: Apache-2.0
// Speed of checked runs: a tiled GEMM without checks, with bounds, uninitialised reads and shared
// races, and with races in global memory as well; and the memory that they take.
// usage: bench_check [--root FOLDER] [--rounds N]
//
// The tiers take turns in every round and the best of each counts: on a busy machine all suffer
// alike, so the ratio is worth more than the rate.
#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "best_of.h"
#include "check/checker.h"
#include "native_gemm.h"
#include "support/ptx_harness.h"

namespace cuco::check {
namespace {

struct Tier {
  const char* name;
  bool is_checked;
  Options options;
  double seconds = 1e30;
  double instructions = 0;
  std::uint64_t shadow_bytes = 0;
  std::size_t findings = 0;
};

std::string read_text(const std::string& path) {
  std::ifstream in(path);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

void measure(Tier& tier, const std::string& ptx, const hardware::GpuDescription& gpu) {
  constexpr int kSide = 512;
  Checker checker(tier.options);
  vgpu::Environment environment;
  if (tier.is_checked) environment.observer = &checker;
  auto harness = vgpu::Harness::load(ptx, gpu, environment);
  if (!harness) {
    fmt::print("{}\n", harness.error().message());
    std::exit(1);
  }
  const std::vector<float> values(std::size_t{kSide} * kSide, 1.0F);
  const auto a = (*harness)->upload<float>(values);
  const auto b = (*harness)->upload<float>(values);
  const auto c = (*harness)->allocate(values.size() * sizeof(float));
  const std::uint64_t bytes = values.size() * sizeof(float);
  checker.on_allocate(a, bytes, {.what = "a", .written = true});
  checker.on_allocate(b, bytes, {.what = "b", .written = true});
  checker.on_allocate(c, bytes, {.what = "c"});
  vgpu::HarnessLaunch launch{.grid = {16, 16, 1}, .block = {32, 32, 1}};
  launch.instruction_budget = 0;
  tier.seconds =
      std::min(tier.seconds, bench::cpu_seconds_of([&] {
                 const auto result = (*harness)->run("gemm_tiled", launch, kSide, a, b, c);
                 if (!result || !result->ok()) std::exit(1);
                 tier.instructions = static_cast<double>(result->grid.counters.thread_instructions);
               }));
  tier.shadow_bytes = checker.shadow_bytes();
  tier.findings = checker.findings().all().size();
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
  std::array<Tier, 3> tiers = {{
      {"unchecked", false, {}},
      {"bounds, uninitialised, shared races", true, {true, true, false}},
      {"and global races", true, {true, true, true}},
  }};
  const std::vector<float> values(512 * 512, 1.0F);
  std::vector<float> product(values.size());
  double native = 1e30;
  for (int round = 0; round < rounds; ++round) {
    native = std::min(native, bench::cpu_seconds_of([&] {
                        bench::native_gemm(512, values.data(), values.data(), product.data());
                      }));
    for (Tier& tier : tiers)
      measure(tier, ptx, *gpu);
  }
  fmt::print("tiled GEMM, 512 x 512, one core; {}\n", bench::machine());
  constexpr double kDeviceBytes = 3.0 * 512 * 512 * sizeof(float);
  for (const Tier& tier : tiers) {
    fmt::print(
        "{:<38} {:>8.1f} ms  {:>5.2f} G thread-instr/s  {:>5.2f}x the time  {:>5.1f}x native  "
        "{:>5.2f} bytes of shadow a device byte  {} findings\n",
        tier.name, 1e3 * tier.seconds, 1e-9 * tier.instructions / tier.seconds,
        tier.seconds / tiers[0].seconds, tier.seconds / native,
        static_cast<double>(tier.shadow_bytes) / kDeviceBytes, tier.findings);
  }
  return 0;
}

}  // namespace
}  // namespace cuco::check

int main(int argc, char** argv) {
  return cuco::check::run(argc, argv);
}
