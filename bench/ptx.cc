// SPDX-License-Identifier: Apache-2.0
// How fast PTX text becomes a module, and a module a register plan.
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include <benchmark/benchmark.h>

#include "ptx/flow/liveness.h"
#include "ptx/parse/parse.h"

namespace cuco::ptx {
namespace {

/// The kernels of a real module, repeated under new names until the text has about `bytes`.
std::string large_text(std::size_t bytes) {
  const auto path = std::filesystem::path(CUCO_SOURCE_DIR) / "tests/data/ptx/device_api.ptx";
  std::ifstream file(path);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const std::size_t body = text.find(".visible .entry");
  std::string result = text.substr(0, body);
  for (int copy = 0; result.size() < bytes; ++copy) {
    std::string kernels = text.substr(body);
    // Names follow ".entry _Z": a letter more makes them new.
    for (std::size_t at = 0; (at = kernels.find(".entry _Z", at)) != std::string::npos; at += 9) {
      kernels.insert(at + 9, std::to_string(copy) + "x");
    }
    result += kernels;
  }
  return result;
}

void BM_Parse(benchmark::State& state) {
  const std::string text = large_text(static_cast<std::size_t>(state.range(0)));
  std::size_t instructions = 0;
  for (auto _ : state) {
    const Result<Module> module = parse(text);
    if (!module) return state.SkipWithError(module.error().message().c_str());
    instructions = 0;
    for (const Function& function : module->functions)
      instructions += function.instructions.size();
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations() * text.size()));
  state.counters["instructions"] = static_cast<double>(instructions);
}
BENCHMARK(BM_Parse)->Arg(30'000)->Arg(8'000'000)->Unit(benchmark::kMillisecond);

void BM_PlanRegisters(benchmark::State& state) {
  const Result<Module> module = parse(large_text(30'000));
  if (!module) return state.SkipWithError(module.error().message().c_str());
  std::size_t instructions = 0;
  for (auto _ : state) {
    for (const Function& function : module->functions) {
      benchmark::DoNotOptimize(plan_registers(function));
      instructions += function.instructions.size();
    }
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(instructions));
}
BENCHMARK(BM_PlanRegisters)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace cuco::ptx
