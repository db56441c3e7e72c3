// SPDX-License-Identifier: Apache-2.0
#include "judge/seed_trace.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "fabric/topology.h"
#include "hardware/gpu_description.h"
#include "judge/builder.h"
#include "judge/trial/bench.h"
#include "judge/trial/trial.h"
#include "targets/virtual/machine_files.h"
#include "toolchain/object_builder.h"

namespace cuco::judge {
namespace {

constexpr std::size_t kShapes = 3;
/// Of a timed shape's parameters; each shape begins elsewhere, so that no two change alike.
constexpr std::array<double, kShapes> kParts = {0.62, 0.81, 1.0};

long long nearest(const workload::Range& range, double value) {
  if (!range.values.empty()) return static_cast<long long>(value);  // A choice stays what it is.
  const auto steps =
      std::llround((value - static_cast<double>(range.from)) / static_cast<double>(range.step));
  return range.from + std::clamp(steps, 0LL, (range.to - range.from) / range.step) * range.step;
}

Result<bool> exists(const workload::Workload& workload, const workload::Shape& shape) {
  if (workload.draws.positive.empty()) return true;
  CUCO_TRY_ASSIGN(const double value,
                  workload::evaluate(workload.draws.positive, workload.variables(shape)));
  return value > 0;
}

workload::Shape neighbour(const workload::Workload& workload,
                          const workload::Shape& timed,
                          std::size_t number) {
  workload::Shape shape = timed;
  std::vector<std::string> words;
  std::size_t changed = 0;
  for (std::size_t i = 0; i < shape.params.size(); ++i) {
    const workload::Range& range = workload.ranges[i];
    if (range.values.empty() && range.to > range.from) {
      const double part = kParts[(number + changed++) % kShapes];
      shape.params[i] = nearest(range, part * static_cast<double>(timed.params[i]));
    }
    words.push_back(fmt::format("{}={}", workload.params[i], shape.params[i]));
  }
  shape.name = fmt::format("{}", fmt::join(words, " "));
  return shape;
}

/// What virtual GPUs imitate.
Result<targets::VirtualSpec> machine_for(const workload::Workload& workload,
                                         const JudgeOptions& options,
                                         std::string& architecture) {
  targets::VirtualSpec machine;
  const std::string& name = options.topology.empty() ? workload.topology : options.topology;
  CUCO_TRY_ASSIGN(machine.topology, targets::find_topology(name));
  CUCO_TRY_ASSIGN(const std::string text, system::read_file(machine.topology));
  CUCO_TRY_ASSIGN(const fabric::Topology topology,
                  fabric::parse_topology(text, machine.topology.string()));
  CUCO_TRY_ASSIGN(machine.gpu, system::find_data("hardware/" + topology.gpu + ".toml"));
  CUCO_TRY_ASSIGN(const auto gpu, hardware::load_gpu_description(machine.gpu.string(), {}));
  architecture = fmt::format("{}{}", gpu.compute_major, gpu.compute_minor);
  machine.ranks = workload.ranks;
  machine.memory = options.server_memory;
  machine.profile = true;
  machine.blocks = true;
  return machine;
}

Error does_not_run(const workload::Workload& workload, const candidate::Outcome& outcome) {
  return {ErrorKind::InvalidInput, fmt::format("the seed of {} does not pass: {}", workload.name,
                                               candidate::summary(outcome))};
}

}  // namespace

Result<std::vector<workload::Shape>> shapes_to_trace(const workload::Workload& workload) {
  std::vector<workload::Shape> shapes;
  for (const workload::Shape* timed : workload.shapes_for(workload::Use::Time)) {
    if (workload.ranges.empty()) {
      shapes.push_back(*timed);
      continue;
    }
    for (std::size_t i = 0; i < kShapes; ++i) {
      workload::Shape shape = neighbour(workload, *timed, i);
      CUCO_TRY_ASSIGN(const bool is_one, exists(workload, shape));
      if (is_one) shapes.push_back(std::move(shape));
    }
  }
  return shapes;
}

Result<std::vector<TracedShape>> trace_seed(const JudgeOptions& options,
                                            const std::function<void(std::string_view)>& progress,
                                            const std::function<bool()>& is_stopped) {
  CUCO_TRY_ASSIGN(const workload::Workload workload, workload::load_workload(options.workload));
  CUCO_TRY_ASSIGN(const auto shapes, shapes_to_trace(workload));
  std::string architecture;
  CUCO_TRY_ASSIGN(const auto machine, machine_for(workload, options, architecture));
  const toolchain::BuildSettings settings{
      .cache = options.cache / "builds", .tier = options.tier, .architecture = architecture};
  progress("building the seed …");
  CUCO_TRY_ASSIGN(const system::Path oracle,
                  toolchain::build_oracle(workload.folder / "oracle.cpp", settings));
  const auto builder = make_builder(settings);
  CUCO_TRY_ASSIGN(Built built,
                  build_screened(*builder, workload.program, workload.program, false, nullptr));
  if (const auto* outcome = std::get_if<candidate::Outcome>(&built))
    return does_not_run(workload, *outcome);
  const auto benches = make_benches(oracle, false);
  const workload::Secret inputs = workload::Secret::from("inputs to look at", 0);
  std::vector<TracedShape> traced;
  for (const workload::Shape& shape : shapes) {
    if (is_stopped()) return Error{ErrorKind::Unavailable, "interrupted"};
    progress(fmt::format("running {} …", shape.name));
    const TrialSpec spec{.workload = workload,
                         .shape = shape,
                         .secret = inputs,
                         .candidate = std::get<system::Path>(built),
                         .machine = machine,
                         .tier = options.tier,
                         .check_limit = 1024,
                         .iterations = 2};  // the first loads the code
    CUCO_TRY_ASSIGN(Bench bench, start_bench(*benches, machine));
    CUCO_TRY_ASSIGN(TrialResult result, run_trial(spec, std::move(bench), *benches));
    if (const auto* outcome = std::get_if<candidate::Outcome>(&result))
      return does_not_run(workload, *outcome);
    traced.push_back({shape, std::move(std::get<TrialTimes>(result).profile.report)});
  }
  return traced;
}

}  // namespace cuco::judge
