// SPDX-License-Identifier: Apache-2.0
// Speed of the interpreter: four kernels, each also as plain C++, one core, timing model on.
#include <algorithm>
#include <cmath>
#include <ctime>
#include <fstream>
#include <functional>
#include <sstream>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "vgpu/harness.h"

namespace cuco::vgpu {
namespace {

double cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

double best_of(int repeats, const std::function<void()>& work) {
  double best = 1e30;
  for (int i = 0; i < repeats; ++i) {
    const double start = cpu_seconds();
    work();
    best = std::min(best, cpu_seconds() - start);
  }
  return best;
}

std::string read_text(const std::string& path) {
  std::ifstream in(path);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

struct Measured {
  double seconds = 0;
  double instructions = 0;
  VTime predicted = 0;
};

template <typename... Args>
Measured measure(Harness& gpu, const char* kernel, HarnessLaunch launch, Args... args) {
  launch.instruction_budget = 0;
  Measured out;
  out.seconds = best_of(3, [&] {
    const auto result = gpu.run(kernel, launch, args...);
    if (!result || !result->ok()) {
      fmt::print("{} failed: {}\n", kernel,
                 !result ? result.error().message()
                         : (result->grid.trap ? to_string(*result->grid.trap) : "dead-lock"));
      std::exit(1);
    }
    out.instructions = static_cast<double>(result->grid.counters.thread_instructions);
    out.predicted = result->grid.finished - result->grid.started;
  });
  return out;
}

void report(const char* name, const Measured& vgpu, double native) {
  fmt::print(
      "{:<12} {:>8.2f} ms  {:>6.2f} G thread-instr/s  native {:>8.3f} ms  slowdown {:>6.1f}x"
      "  (predicted on H200: {:.1f} us)\n",
      name, 1e3 * vgpu.seconds, 1e-9 * vgpu.instructions / vgpu.seconds, 1e3 * native,
      vgpu.seconds / native, 1e-6 * static_cast<double>(vgpu.predicted));
}

[[gnu::noinline]] void native_saxpy(int n, float a, const float* x, float* y) {
  for (int i = 0; i < n; ++i)
    y[i] = a * x[i] + y[i];
}

[[gnu::noinline]] void native_gemm(int n, const float* a, const float* b, float* c) {
  std::fill(c, c + n * n, 0.0F);
  for (int i0 = 0; i0 < n; i0 += 32) {
    for (int k0 = 0; k0 < n; k0 += 32) {
      for (int i = i0; i < i0 + 32; ++i) {
        for (int k = k0; k < k0 + 32; ++k) {
          const float value = a[i * n + k];
          for (int j = 0; j < n; ++j)
            c[i * n + j] += value * b[k * n + j];
        }
      }
    }
  }
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

/// Predicted times beside those of tests/conformance/records/h200_calibration.json, launch
/// included.
void compare_with_h200(Harness& gpu, Address a, Address b, Address c) {
  const auto show = [&](const char* name, const Measured& vgpu, double measured_us) {
    const double predicted =
        1e-6 * static_cast<double>(vgpu.predicted) + gpu.gpu().description().launch_us;
    fmt::print("{:<16} predicted {:>8.1f} us   H200 {:>8.1f} us   ratio {:.2f}\n", name, predicted,
               measured_us, predicted / measured_us);
  };
  const int n = 1 << 24;
  const Address x = gpu.allocate(4ULL * n);
  const Address y = gpu.allocate(4ULL * n);
  show("saxpy 1M",
       measure(gpu, "saxpy", {.grid = {4096, 1, 1}, .block = {256, 1, 1}}, 1 << 20, 2.0F, a, b),
       8.288);
  show("saxpy 16M",
       measure(gpu, "saxpy", {.grid = {65536, 1, 1}, .block = {256, 1, 1}}, n, 2.0F, x, y), 64.128);
  show("gemm_tiled 512",
       measure(gpu, "gemm_tiled", {.grid = {16, 16, 1}, .block = {32, 32, 1}}, 512, a, b, c),
       36.704);
  show("gemm_tiled 1024",
       measure(gpu, "gemm_tiled", {.grid = {32, 32, 1}, .block = {32, 32, 1}}, 1024, a, b, c),
       239.392);
}

int run_all(const std::string& root) {
  const auto description = hardware::load_gpu_description("h200", root);
  if (!description) return 1;
  auto loaded = Harness::load(read_text(root + "/bench/data/kernels.ptx"), *description);
  if (!loaded) {
    fmt::print("{}\n", loaded.error().message());
    return 1;
  }
  Harness& gpu = **loaded;
  const int n = 1 << 20;
  const int side = 512;
  std::vector<float> x(n, 1.5F);
  std::vector<float> y(n, 0.5F);
  const Address dx = gpu.upload<float>(x);
  const Address dy = gpu.upload<float>(y);
  const Address dc = gpu.allocate(4 * n);
  std::vector<unsigned> steps(n);

  const double saxpy = best_of(5, [&] { native_saxpy(n, 2.0F, x.data(), y.data()); });
  report("saxpy 1M",
         measure(gpu, "saxpy", {.grid = {4096, 1, 1}, .block = {256, 1, 1}}, n, 2.0F, dx, dy),
         saxpy);
  std::vector<float> c(side * side);
  const double gemm = best_of(3, [&] { native_gemm(side, x.data(), y.data(), c.data()); });
  report("gemm_tiled",
         measure(gpu, "gemm_tiled", {.grid = {16, 16, 1}, .block = {32, 32, 1}}, side, dx, dy, dc),
         gemm);
  report("gemm_reg",
         measure(gpu, "gemm_reg", {.grid = {2, 16, 1}, .block = {64, 4, 1}}, side, dx, dy, dc),
         gemm);
  const int items = 1 << 16;
  const double divergent = best_of(3, [&] { native_divergent(items, steps.data()); });
  report("divergent",
         measure(gpu, "divergent", {.grid = {256, 1, 1}, .block = {256, 1, 1}}, items, dc),
         divergent);
  compare_with_h200(gpu, dx, dy, dc);
  return 0;
}

}  // namespace
}  // namespace cuco::vgpu

int main(int argc, char** argv) {
  return cuco::vgpu::run_all(argc > 1 ? argv[1] : ".");
}
