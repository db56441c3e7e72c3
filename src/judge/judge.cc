// SPDX-License-Identifier: Apache-2.0
#include "judge/judge.h"

#include <algorithm>

#include <fmt/format.h>

#include "judge/ordered_steps.h"
#include "judge/provenance.h"
#include "judge/score.h"
#include "targets/virtual/machine_files.h"
#include "workload/bound.h"
#include "workload/draw.h"

namespace cuco::judge {
namespace {

using candidate::Outcome;

/// Topology and GPU, by the workload's names or the option's.
Result<void> describe_machine(const JudgeOptions& options, JudgeParts* parts) {
  const std::string& name = options.topology.empty() ? parts->workload.topology : options.topology;
  targets::VirtualSpec& machine = parts->machine;
  CUCO_TRY_ASSIGN(machine.topology, targets::find_topology(name));
  CUCO_TRY_ASSIGN(const std::string text, system::read_file(machine.topology));
  CUCO_TRY_ASSIGN(parts->topology, fabric::parse_topology(text, machine.topology.string()));
  CUCO_TRY_ASSIGN(parts->topology, fabric::restrict_to(parts->topology, parts->workload.ranks));
  CUCO_TRY_ASSIGN(machine.gpu, system::find_data("hardware/" + parts->topology.gpu + ".toml"));
  CUCO_TRY_ASSIGN(parts->gpu, hardware::load_gpu_description(machine.gpu.string(), {}));
  machine.ranks = parts->workload.ranks;
  machine.seed = options.seed;
  machine.memory = options.server_memory;
  return {};
}

/// The GPU reference of the full shapes.
Result<system::Path> build_reference(const workload::Workload& workload, Builder& builder) {
  const system::Path file = workload.folder / "reference.cu";
  CUCO_TRY_ASSIGN(const std::string text, system::read_file(file, 4U << 20U));
  CUCO_TRY_ASSIGN(toolchain::BuildResult built, builder.build(text, false));
  if (const auto* object = std::get_if<system::Path>(&built)) return *object;
  const auto* failed = std::get_if<toolchain::CompileError>(&built);
  return Error{ErrorKind::InvalidInput,
               fmt::format("{} does not compile: {}", file.string(),
                           failed != nullptr ? failed->message : "it takes too long")};
}

}  // namespace

Result<std::unique_ptr<Judge>> Judge::create(const JudgeOptions& options) {
  CUCO_TRY_ASSIGN(workload::Workload workload, workload::load_workload(options.workload));
  CUCO_TRY_ASSIGN(const workload::Secret secret,
                  options.secret.empty() ? workload::Secret::load(options.cache, options.seed)
                                         : workload::Secret::from(options.secret, options.seed));
  CUCO_TRY_ASSIGN(const auto drawn, workload::draw_shapes(workload, secret));
  workload.shapes.insert(workload.shapes.end(), drawn.begin(), drawn.end());
  JudgeParts parts{.workload = std::move(workload), .secret = secret};
  CUCO_TRY(describe_machine(options, &parts));
  const bool is_real = !candidate::is_predicted(options.on);
  if (is_real) {
    const RealWork work{options.on, parts.workload.name, parts.workload.ranks};
    CUCO_TRY_ASSIGN(parts.real_gpu, claim_real_gpu(work, options.cache));
  }
  parts.check = options.check && !is_real;
  parts.tier = options.tier;
  parts.profile = options.profile;
  parts.small = options.small;
  parts.timeline = options.timeline;
  parts.scale = options.scale;
  parts.threads = options.threads;
  parts.on_progress = options.on_progress;
  const toolchain::BuildSettings settings{
      .cache = options.cache / "builds",
      .tier = options.tier,
      .architecture = fmt::format("{}{}", parts.gpu.compute_major, parts.gpu.compute_minor)};
  parts.builder = make_builder(settings);
  CUCO_TRY_ASSIGN(const auto cuda, toolchain::toolkit_of(settings));
  CUCO_TRY_ASSIGN(
      parts.provenance,
      provenance_of({parts.workload.folder, parts.machine.gpu, parts.machine.topology}, cuda));
  if (parts.real_gpu) parts.provenance.hardware = parts.real_gpu->gpu;
  CUCO_TRY_ASSIGN(const system::Path oracle,
                  toolchain::build_oracle(parts.workload.folder / "oracle.cpp", settings));
  parts.benches = make_benches(oracle, is_real);
  const bool has_reference = std::filesystem::exists(parts.workload.folder / "reference.cu");
  if (options.full || (is_real && has_reference)) {
    CUCO_TRY_ASSIGN(parts.reference, build_reference(parts.workload, *parts.builder));
  }
  return std::make_unique<Judge>(std::move(parts));
}

Judge::Judge(JudgeParts parts)
    : parts_(std::move(parts)),
      trials_({.workload = parts_.workload,
               .secret = parts_.secret,
               .machine = parts_.machine,
               .tier = parts_.tier,
               .stages = &stages_},
              *parts_.benches) {}

candidate::Target Judge::target() const {
  candidate::Target target;
  target.name = is_measured() ? "real GPU" : "virtual cluster";
  target.kind = is_measured() ? candidate::TargetKind::Gpu : candidate::TargetKind::Virtual;
  target.hardware = fmt::format("{} x {}", workload().ranks, parts_.gpu.name);
  target.topology = parts_.topology.name;
  target.facts.ranks = workload().ranks;
  target.facts.lsa_ranks = std::min(parts_.topology.domain_size(), workload().ranks);
  target.facts.gin = parts_.topology.nic.has_value();
  target.facts.multimem = parts_.topology.multicast;
  return target;
}

StepWatch Judge::watch_of(const std::string& program) const {
  if (!parts_.on_progress) return {};
  return [this, &program](std::size_t done, std::size_t all) {
    parts_.on_progress({program, done, all});
  };
}

Result<Outcome> Judge::judge(const std::string& program, candidate::Fidelity fidelity) {
  const StepWatch watch = watch_of(program);
  if (watch) watch(0, 0);
  Effort effort = effort_of(fidelity);
  effort.profile = effort.profile || parts_.profile;
  if (!is_measured()) {
    const std::size_t shapes = workload().shapes_for(workload::Use::Check).size();
    CUCO_TRY(trials_.prepare(effort.every_shape ? shapes : 1, watches(effort)));
  }
  CUCO_TRY_ASSIGN(Built built, build_screened(*parts_.builder, workload().program, program,
                                              effort.device_only, &stages_));
  if (auto* outcome = std::get_if<Outcome>(&built)) return std::move(*outcome);
  const auto& object = std::get<system::Path>(built);
  if (!is_measured()) return run_on_virtual(object, effort, watch);
  const std::lock_guard one_at_a_time(gpu_mutex_);
  return run_on_gpu(object, effort);
}

std::optional<candidate::MachineCode> Judge::build_only(const std::string& program,
                                                        candidate::Fidelity fidelity) {
  // Whatever is wrong with it, judge() finds out again.
  const auto built = build_screened(*parts_.builder, workload().program, program,
                                    effort_of(fidelity).device_only, &stages_);
  const auto* object = built ? std::get_if<system::Path>(&*built) : nullptr;
  const auto code = object == nullptr ? std::nullopt : parts_.builder->machine_code(*object);
  if (!code) return std::nullopt;
  return candidate::MachineCode{code->device, code->host};
}

Result<std::optional<Outcome>> Judge::check(const std::string& program) {
  const auto shapes = workload().shapes_for(workload::Use::Check);
  if (!is_measured()) CUCO_TRY(trials_.prepare(shapes.size(), parts_.check));
  CUCO_TRY_ASSIGN(Built built,
                  build_screened(*parts_.builder, workload().program, program, true, &stages_));
  if (auto* outcome = std::get_if<Outcome>(&built)) return std::optional(std::move(*outcome));
  OrderedSteps steps;
  Unfinished unfinished;
  for (const workload::Shape* shape : shapes) {
    steps.add([=, this, &built, &unfinished] {
      return check_shape(std::get<system::Path>(built), *shape, 0, {.watch = parts_.check},
                         &unfinished);
    });
  }
  if (!is_measured()) return steps.run(parts_.threads, watch_of(program));
  const std::lock_guard one_at_a_time(gpu_mutex_);
  return steps.run(1, watch_of(program));
}

Result<system::Path> Judge::build_seed() {
  CUCO_TRY_ASSIGN(Built built, build_screened(*parts_.builder, workload().program,
                                              workload().program, false, nullptr));
  if (const auto* object = std::get_if<system::Path>(&built)) return *object;
  return Error{ErrorKind::InvalidInput,
               fmt::format("the seed of {} does not pass: {}", workload().name,
                           candidate::summary(std::get<Outcome>(built)))};
}

Result<const SeedTime*> Judge::seed(const workload::Shape& shape, int surprises) {
  return seeds_.find_or(shape.name, surprises, [&]() -> Result<SeedTime> {
    const Stages::Lap lap(&stages_, "seed");
    CUCO_TRY_ASSIGN(const system::Path object, build_seed());
    CUCO_TRY_ASSIGN(TrialResult result, trials_.time(object, shape, nullptr, {surprises}));
    if (const auto* outcome = std::get_if<Outcome>(&result)) {
      return Error{ErrorKind::InvalidInput,
                   fmt::format("the seed of {} does not pass: {}", workload().name,
                               candidate::summary(*outcome))};
    }
    auto& times = std::get<TrialTimes>(result);
    return SeedTime{typical(times.seconds, shape), std::move(times.outputs)};
  });
}

Result<double> Judge::baseline(const workload::Shape& shape) {
  CUCO_TRY_ASSIGN(const SeedTime* known, seed(shape, 0));
  return known->seconds;
}

Result<measure::Bound> Judge::bound(const workload::Shape& shape) const {
  return workload::bound_of(workload(), shape, parts_.gpu, parts_.topology);
}

Outcome Judge::score(candidate::Scored scored) const {
  sum_up(&scored);
  scored.predicted = !is_measured();
  scored.hardware = parts_.real_gpu ? parts_.real_gpu->gpu : parts_.gpu.key;
  return scored;
}

std::vector<MeasuredShape> Judge::measured() const {
  const std::lock_guard lock(measured_mutex_);
  return measured_;
}

std::string Judge::basis(const candidate::Scored& scored) const {
  return fmt::format(
      "correct: {} shapes, {} hidden shapes, {} schedules, every iteration verified{}",
      scored.checked_shapes, scored.checked_hidden_shapes, scored.checked_schedules,
      reservations(scored));
}

}  // namespace cuco::judge
