// SPDX-License-Identifier: Apache-2.0
// Speed of the interpreter: four kernels, each also as plain C++, one core, timing model on.
// usage: bench_vgpu [--root FOLDER] [--only NAME] [--rounds N]
//
// A round runs the kernel and its native twin right after each other; the best of each counts. On a
// busy machine both suffer alike, so the slowdown is worth more than the rate.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "best_of.h"
#include "native_gemm.h"
#include "support/ptx_harness.h"

namespace cuco::vgpu {
namespace {

struct Options {
  std::string root = ".";
  std::string only;
  int rounds = 10;
};

std::string read_text(const std::string& path) {
  std::ifstream in(path);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

struct Measured {
  double seconds = 1e30;
  double native = 1e30;
  double instructions = 0;
  VTime predicted = 0;
};

class Bench {
 public:
  Bench(Harness& gpu, Options options) : gpu_(gpu), options_(std::move(options)) {}

  template <typename... Args>
  void run(const char* name,
           HarnessLaunch launch,
           const std::function<void()>& native,
           const char* kernel,
           Args... args) {
    if (!options_.only.empty() && options_.only != name) return;
    Measured best;
    for (int i = 0; i < options_.rounds; ++i) {
      best.native = std::min(best.native, bench::cpu_seconds_of(native));
      best.seconds = std::min(best.seconds, bench::cpu_seconds_of([&] {
                                const GridResult grid = once(kernel, launch, args...);
                                best.instructions =
                                    static_cast<double>(grid.counters.thread_instructions);
                                best.predicted = grid.finished - grid.started;
                              }));
    }
    fmt::print(
        "{:<12} {:>8.2f} ms  {:>6.2f} G thread-instr/s  native {:>8.3f} ms  slowdown {:>6.1f}x"
        "  (predicted on H200: {:.1f} us)\n",
        name, 1e3 * best.seconds, 1e-9 * best.instructions / best.seconds, 1e3 * best.native,
        best.seconds / best.native, 1e-6 * static_cast<double>(best.predicted));
  }

  /// A predicted time beside that of tests/conformance/records/h200_calibration.json, launch
  /// included.
  template <typename... Args>
  void predict(const char* name,
               double measured_us,
               HarnessLaunch launch,
               const char* kernel,
               Args... args) {
    if (!options_.only.empty()) return;
    const GridResult grid = once(kernel, launch, args...);
    const double predicted = 1e-6 * static_cast<double>(grid.finished - grid.started) +
                             gpu_.gpu().description().launch_us;
    fmt::print("{:<16} predicted {:>8.1f} us   H200 {:>8.1f} us   ratio {:.2f}\n", name, predicted,
               measured_us, predicted / measured_us);
  }

 private:
  template <typename... Args>
  GridResult once(const char* kernel, HarnessLaunch launch, Args... args) {
    launch.instruction_budget = 0;
    const auto result = gpu_.run(kernel, launch, args...);
    if (result && result->ok()) return result->grid;
    fmt::print("{} failed: {}\n", kernel,
               !result ? result.error().message()
                       : (result->grid.trap ? to_string(*result->grid.trap) : "deadlock"));
    std::exit(1);
  }

  Harness& gpu_;
  Options options_;
};

[[gnu::noinline]] void native_saxpy(int n, float a, const float* x, float* y) {
  for (int i = 0; i < n; ++i)
    y[i] = a * x[i] + y[i];
}

[[gnu::noinline]] void native_divergent(int n, unsigned* out) {
  for (int i = 0; i < n; ++i) {
    unsigned x = static_cast<unsigned>(i) + 1;
    unsigned steps = 0;
    while (x != 1) {
      if ((x & 1U) != 0) {
        x = 3 * x + 1;
        steps += 2;
      } else {
        x >>= 1U;
        steps += 1;
      }
      if (steps > 400) break;
    }
    out[i] = steps;
  }
}

void run_all(Harness& gpu, const Options& options) {
  Bench bench(gpu, options);
  const int n = 1 << 20;
  const int side = 512;
  std::vector<float> x(n, 1.5F);
  std::vector<float> y(n, 0.5F);
  std::vector<float> c(side * side);
  const int items = 1 << 16;
  std::vector<unsigned> steps(items);
  const Address dx = gpu.upload<float>(x);
  const Address dy = gpu.upload<float>(y);
  const Address dc = gpu.allocate(4 * n);

  bench.run(
      "saxpy 1M", {.grid = {4096, 1, 1}, .block = {256, 1, 1}},
      [&] { native_saxpy(n, 2.0F, x.data(), y.data()); }, "saxpy", n, 2.0F, dx, dy);
  const auto gemm = [&] { bench::native_gemm(side, x.data(), y.data(), c.data()); };
  bench.run("gemm_tiled", {.grid = {16, 16, 1}, .block = {32, 32, 1}}, gemm, "gemm_tiled", side, dx,
            dy, dc);
  bench.run("gemm_reg", {.grid = {2, 16, 1}, .block = {64, 4, 1}}, gemm, "gemm_reg", side, dx, dy,
            dc);
  bench.run(
      "divergent", {.grid = {256, 1, 1}, .block = {256, 1, 1}},
      [&] { native_divergent(items, steps.data()); }, "divergent", items, dc);

  const int large = 1 << 24;
  const Address lx = gpu.allocate(4ULL * large);
  const Address ly = gpu.allocate(4ULL * large);
  bench.predict("saxpy 1M", 8.288, {.grid = {4096, 1, 1}, .block = {256, 1, 1}}, "saxpy", n, 2.0F,
                dx, dy);
  bench.predict("saxpy 16M", 64.128, {.grid = {65536, 1, 1}, .block = {256, 1, 1}}, "saxpy", large,
                2.0F, lx, ly);
  bench.predict("gemm_tiled 512", 36.704, {.grid = {16, 16, 1}, .block = {32, 32, 1}}, "gemm_tiled",
                512, dx, dy, dc);
  bench.predict("gemm_tiled 1024", 239.392, {.grid = {32, 32, 1}, .block = {32, 32, 1}},
                "gemm_tiled", 1024, dx, dy, dc);
}

int run(const Options& options) {
  const auto description = hardware::load_gpu_description("h200", options.root);
  if (!description) {
    fmt::print("{}\n", description.error().message());
    return 1;
  }
  auto loaded = Harness::load(read_text(options.root + "/bench/data/kernels.ptx"), *description);
  if (!loaded) {
    fmt::print("{}\n", loaded.error().message());
    return 1;
  }
  fmt::print("{}; best of {} rounds, thread CPU time, one core\n", bench::machine(),
             options.rounds);
  run_all(**loaded, options);
  return 0;
}

}  // namespace
}  // namespace cuco::vgpu

int main(int argc, char** argv) {
  cuco::vgpu::Options options;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string_view flag = argv[i];
    if (flag == "--root") options.root = argv[i + 1];
    if (flag == "--only") options.only = argv[i + 1];
    if (flag == "--rounds") options.rounds = std::max(1, std::atoi(argv[i + 1]));
  }
  return cuco::vgpu::run(options);
}
