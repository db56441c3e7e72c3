// SPDX-License-Identifier: Apache-2.0
#include "judge/judge.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include <fmt/format.h>

#include "judge/oracle/gpu_reference.h"
#include "judge/pairs.h"
#include "judge/screen.h"
#include "judge/trial.h"
#include "rank/rank_job.h"
#include "workload/bound.h"

namespace cuco::judge {
namespace {

using candidate::Fidelity;
using candidate::Outcome;

// Of a timed shape's outputs: so many elements each are compared with the fp64 reference.
constexpr std::size_t kTimedCheckLimit = 16384;
constexpr std::size_t kCheckAll = ~std::size_t{0};
constexpr std::size_t kMostStarts = 12;
// Of a full shape's, where the GPU reference sees to the rest.
constexpr std::size_t kFullCheckLimit = 2048;
// For the checker to say why a result is wrong: the verdict does not wait for it longer.
constexpr std::chrono::seconds kWhyLimit{30};

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

/// A time with its place under the roofline: which resource is the bound, and how far the others
/// are.
candidate::ShapeTime shape_time(const workload::Shape& shape,
                                double seconds,
                                double baseline_seconds,
                                const measure::Bound& bound) {
  candidate::ShapeTime time{.shape = shape.name,
                            .seconds = seconds,
                            .baseline_seconds = baseline_seconds,
                            .bound_seconds = bound.seconds,
                            .limited_by = bound.limited_by};
  time.limits = {{"math", bound.flops_seconds}, {"HBM", bound.hbm_seconds}};
  if (bound.wire_seconds > 0) time.limits.push_back({"links", bound.wire_seconds});
  return time;
}

}  // namespace

Result<std::unique_ptr<Judge>> Judge::create(const JudgeOptions& options) {
  CUCO_TRY_ASSIGN(workload::Workload workload, workload::load_workload(options.workload));
  CUCO_TRY_ASSIGN(const workload::Secret secret,
                  workload::Secret::load(options.cache, options.seed));
  std::unique_ptr<Judge> judge(new Judge(std::move(workload), secret));
  const std::string name = options.topology.empty() ? judge->workload_.topology : options.topology;
  CUCO_TRY_ASSIGN(judge->cluster_.topology, system::find_data("topology/" + name + ".toml"));
  CUCO_TRY_ASSIGN(const std::string text, system::read_file(judge->cluster_.topology));
  CUCO_TRY_ASSIGN(judge->topology_,
                  fabric::parse_topology(text, judge->cluster_.topology.string()));
  CUCO_TRY_ASSIGN(judge->topology_, fabric::restrict_to(judge->topology_, judge->workload_.ranks));
  CUCO_TRY_ASSIGN(judge->cluster_.gpu,
                  system::find_data("hardware/" + judge->topology_.gpu + ".toml"));
  CUCO_TRY_ASSIGN(judge->gpu_, hardware::load_gpu_description(judge->cluster_.gpu.string(), {}));
  judge->cluster_.ranks = judge->workload_.ranks;
  judge->cluster_.seed = options.seed;
  judge->cluster_.memory = options.server_memory;
  judge->cluster_.real = options.on_gpu;
  if (options.on_gpu && judge->workload_.ranks != 1) {
    return Error{ErrorKind::InvalidInput,
                 fmt::format("{} has {} ranks: on a real GPU only workloads of one rank are judged",
                             judge->workload_.name, judge->workload_.ranks)};
  }
  if (options.on_gpu) CUCO_TRY(targets::VirtualCluster::probe_real());
  judge->check_ = options.check && !options.on_gpu;
  judge->tier_ = options.tier;
  judge->build_settings_.cache = options.cache / "builds";
  judge->build_settings_.tier = options.tier;
  judge->build_settings_.architecture =
      fmt::format("{}{}", judge->gpu_.compute_major, judge->gpu_.compute_minor);
  CUCO_TRY_ASSIGN(judge->oracle_, toolchain::build_oracle(judge->workload_.folder / "oracle.cpp",
                                                          judge->build_settings_));
  const bool has_reference = std::filesystem::exists(judge->workload_.folder / "reference.cu");
  if (options.full || (options.on_gpu && has_reference)) CUCO_TRY(judge->build_reference());
  return judge;
}

Result<void> Judge::build_reference() {
  const system::Path file = workload_.folder / "reference.cu";
  CUCO_TRY_ASSIGN(const std::string text, system::read_file(file, 4U << 20U));
  CUCO_TRY_ASSIGN(toolchain::BuildResult built, toolchain::build_candidate(text, build_settings_));
  if (const auto* object = std::get_if<system::Path>(&built)) {
    reference_ = *object;
    return {};
  }
  const auto* failed = std::get_if<toolchain::CompileError>(&built);
  return Error{ErrorKind::InvalidInput,
               fmt::format("{} does not compile: {}", file.string(),
                           failed != nullptr ? failed->message : "it takes too long")};
}

candidate::Target Judge::target() const {
  candidate::Target target;
  target.name = cluster_.real ? "real GPU" : "virtual cluster";
  target.predicted = !cluster_.real;
  target.hardware = fmt::format("{} x {}", workload_.ranks, gpu_.name);
  target.topology = topology_.name;
  target.facts.ranks = workload_.ranks;
  target.facts.lsa_ranks = std::min(topology_.domain_size(), workload_.ranks);
  target.facts.gin = topology_.nic.has_value();
  target.facts.multimem = topology_.multicast;
  return target;
}

Result<Outcome> Judge::evaluate(const candidate::Candidate& candidate, Fidelity fidelity) {
  const program::File* file = candidate.source.find("program.cu");
  if (file == nullptr) {
    return Outcome(candidate::ScreenRejected{"files", "there is no program.cu", {}});
  }
  return judge(file->text, fidelity);
}

Result<Outcome> Judge::judge(const std::string& program, Fidelity fidelity) {
  CUCO_TRY(
      prepare(fidelity == Fidelity::Quick ? 1 : workload_.shapes_for(workload::Use::Check).size()));
  // What is found worthy in the end is built as its user will build it.
  CUCO_TRY_ASSIGN(Built built, build(program, &stages_, fidelity != Fidelity::Final));
  if (auto* outcome = std::get_if<Outcome>(&built)) return std::move(*outcome);
  return run(std::get<system::Path>(built), fidelity);
}

Result<std::optional<Outcome>> Judge::check(const std::string& program) {
  CUCO_TRY(prepare(workload_.shapes_for(workload::Use::Check).size()));
  CUCO_TRY_ASSIGN(Built built, build(program, &stages_, true));
  if (auto* outcome = std::get_if<Outcome>(&built)) return std::optional(std::move(*outcome));
  for (const workload::Shape* shape : workload_.shapes_for(workload::Use::Check)) {
    CUCO_TRY_ASSIGN(auto outcome, check_shape(std::get<system::Path>(built), *shape, 0));
    if (outcome) return outcome;
  }
  return std::optional<Outcome>();
}

Result<Judge::Built> Judge::build(const std::string& program, Stages* stages, bool device_only) {
  std::optional<Stages::Lap> lap(std::in_place, stages, "screen");
  CUCO_TRY_ASSIGN(auto screened, screen_source(workload_.program, program));
  if (screened) return Built(Outcome(*std::move(screened)));
  lap.emplace(stages, "build");
  toolchain::BuildSettings settings = build_settings_;
  settings.device_only = device_only;
  CUCO_TRY_ASSIGN(toolchain::BuildResult result, toolchain::build_candidate(program, settings));
  if (auto* failed = std::get_if<toolchain::CompileError>(&result))
    return Built(Outcome(candidate::BuildFailed{std::move(failed->message)}));
  if (const auto* late = std::get_if<toolchain::CompileTimeout>(&result))
    return Built(Outcome(candidate::TimedOut{"build", late->limit_seconds}));
  lap.emplace(stages, "object screen");
  const system::Path object = std::get<system::Path>(result);
  CUCO_TRY_ASSIGN(const std::string bytes, system::read_file(object));
  CUCO_TRY_ASSIGN(const toolchain::ElfFacts facts,
                  toolchain::read_elf(std::as_bytes(std::span(bytes))));
  if (auto refused = screen_object(facts)) return Built(Outcome(*std::move(refused)));
  return Built(object);
}

TrialSpec Judge::trial_spec(const system::Path& object, const workload::Shape& shape) {
  return {.workload = workload_,
          .shape = shape,
          .secret = secret_,
          .candidate = object,
          .cluster = cluster_,
          .tier = tier_,
          .stages = &stages_};
}

targets::ClusterSpec Judge::plain_cluster() const {
  targets::ClusterSpec cluster = cluster_;
  // The relation of what is ordered does not depend on the schedule: once is enough.
  cluster.check = check_;
  return cluster;
}

Result<void> Judge::prepare(std::size_t trials) {
  if (cluster_.real) return {};
  const std::lock_guard lock(standby_mutex_);
  while (standby_.size() < trials) {
    CUCO_TRY_ASSIGN(Surroundings ready, Surroundings::start(oracle_, plain_cluster()));
    standby_.push_back(std::move(ready));
  }
  return {};
}

Result<Surroundings> Judge::take_standby() {
  const std::lock_guard lock(standby_mutex_);
  if (standby_.empty()) return Surroundings::start(oracle_, plain_cluster());
  Surroundings ready = std::move(standby_.back());
  standby_.pop_back();
  return ready;
}

Result<TrialResult> Judge::run_in_new_surroundings(const TrialSpec& spec) {
  CUCO_TRY_ASSIGN(Surroundings fresh, Surroundings::start(oracle_, spec.cluster));
  return run_trial(spec, std::move(fresh));
}

Result<TrialResult> Judge::check_trial(const system::Path& object,
                                       const workload::Shape& shape,
                                       std::uint64_t schedule_seed) {
  TrialSpec spec = trial_spec(object, shape);
  spec.hold_back = true;
  spec.check_limit = kCheckAll;
  if (schedule_seed == 0) {
    CUCO_TRY_ASSIGN(Surroundings ready, take_standby());
    return run_trial(spec, std::move(ready));
  }
  spec.cluster.schedule_seed = schedule_seed;
  return run_in_new_surroundings(spec);
}

Result<TrialResult> Judge::time_trial(const system::Path& object,
                                      const workload::Shape& shape,
                                      const TrialOutputs* like,
                                      int surprises) {
  TrialSpec spec = trial_spec(object, shape);
  spec.check_limit = kTimedCheckLimit;
  spec.cluster.seed = 0;  // one machine for all: its jitter is not the candidate's
  spec.like = like;
  spec.surprises = workload_.ranks > 1 ? surprises : 0;
  if (like == nullptr) {  // the seed itself
    spec.keep_outputs = true;
    spec.stages = nullptr;
  }
  return run_in_new_surroundings(spec);
}

Result<TrialResult> Judge::full_trial(const system::Path& object, const workload::Shape& shape) {
  TrialSpec spec = trial_spec(object, shape);
  spec.check_limit = kFullCheckLimit;
  CUCO_TRY_ASSIGN(const auto reference, GpuReference::start(spec, *reference_));
  spec.reference = reference.get();
  return run_in_new_surroundings(spec);
}

Result<std::optional<Outcome>> Judge::check_full_shapes(const system::Path& object,
                                                        candidate::Scored* scored) {
  if (!reference_) return std::optional<Outcome>();
  for (const workload::Shape* shape : workload_.shapes_for(workload::Use::Full)) {
    CUCO_TRY_ASSIGN(TrialResult result, full_trial(object, *shape));
    if (auto* outcome = std::get_if<Outcome>(&result)) return std::optional(std::move(*outcome));
    ++scored->checked_shapes;
  }
  return std::optional<Outcome>();
}

Result<std::optional<Outcome>> Judge::check_shape(const system::Path& object,
                                                  const workload::Shape& shape,
                                                  int schedules) {
  for (int i = 0; i <= schedules; ++i) {
    // Which schedules is a secret of the run, too; 0 is the plain one.
    const std::uint64_t seed =
        i == 0 ? 0 : 1 + secret_.key(fmt::format("schedule {} {}", shape.name, i)) % 1'000'000'000;
    CUCO_TRY_ASSIGN(TrialResult result, check_trial(object, shape, seed));
    if (auto* outcome = std::get_if<Outcome>(&result)) {
      explain(object, shape, outcome);
      return std::optional(std::move(*outcome));
    }
  }
  return std::optional<Outcome>();
}

void Judge::explain(const system::Path& object, const workload::Shape& shape, Outcome* outcome) {
  auto* wrong = std::get_if<candidate::WrongResult>(outcome);
  if (wrong == nullptr || cluster_.real || check_) return;
  const Stages::Lap lap(&stages_, "why wrong");
  TrialSpec spec = trial_spec(object, shape);
  spec.stages = nullptr;
  spec.hold_back = true;
  spec.check_limit = kTimedCheckLimit;
  spec.cluster.check = true;
  spec.deadline = std::chrono::steady_clock::now() + kWhyLimit;
  // The verdict stands, whatever becomes of this: no findings are no excuse.
  const auto again = run_in_new_surroundings(spec);
  if (!again) return;
  if (const auto* seen = std::get_if<Outcome>(&*again)) {
    if (const auto* found = std::get_if<candidate::Findings>(seen))
      wrong->findings = found->findings;
  }
}

Result<Outcome> Judge::run_on_gpu(const system::Path& object, Fidelity fidelity) {
  candidate::Scored scored;
  auto shapes = workload_.shapes_for(workload::Use::Check);
  if (fidelity == Fidelity::Final) {
    const auto hidden = workload_.shapes_for(workload::Use::Hidden);
    scored.checked_hidden_shapes = static_cast<int>(hidden.size());
    shapes.insert(shapes.end(), hidden.begin(), hidden.end());
  }
  scored.checked_shapes = static_cast<int>(shapes.size()) - scored.checked_hidden_shapes;
  scored.checked_schedules = 1;
  for (const workload::Shape* shape : shapes) {
    CUCO_TRY_ASSIGN(TrialResult result, run_in_new_surroundings(trial_spec(object, *shape)));
    if (auto* outcome = std::get_if<Outcome>(&result)) return std::move(*outcome);
  }
  if (fidelity == Fidelity::Final) {
    CUCO_TRY_ASSIGN(auto outcome, check_full_shapes(object, &scored));
    if (outcome) return *std::move(outcome);
  }
  CUCO_TRY_ASSIGN(Built seed, build(workload_.program, nullptr, false));
  const auto* seed_object = std::get_if<system::Path>(&seed);
  if (seed_object == nullptr) return Error{ErrorKind::InvalidInput, "the seed does not build"};
  // Real time costs the same at full size, so the full shapes are timed, too.
  auto timed = workload_.shapes_for(workload::Use::Time);
  for (const workload::Shape* shape : workload_.shapes_for(workload::Use::Full)) {
    const bool known = std::find(timed.begin(), timed.end(), shape) != timed.end();
    if (!known && fidelity == Fidelity::Final) timed.push_back(shape);
  }
  for (const workload::Shape* shape : timed) {
    CUCO_TRY_ASSIGN(auto outcome, time_on_gpu(*seed_object, object, *shape, &scored));
    if (outcome) return *std::move(outcome);
  }
  return score(std::move(scored));
}

Result<std::optional<Outcome>> Judge::time_on_gpu(const system::Path& seed,
                                                  const system::Path& object,
                                                  const workload::Shape& shape,
                                                  candidate::Scored* scored) {
  TrialSpec incumbent = trial_spec(seed, shape);
  TrialSpec candidate = trial_spec(object, shape);
  incumbent.check_limit = candidate.check_limit = kTimedCheckLimit;
  PairRules rules;
  rules.test.maximum_pairs = kMostStarts;
  // Inputs of a full shape take some seconds to make.
  if (!shape.uses.contains(workload::Use::Time)) rules.pairs_per_start = 1;
  CUCO_TRY_ASSIGN(PairResult result, run_pairs(incumbent, candidate, oracle_, rules));
  if (auto* outcome = std::get_if<Outcome>(&result)) return std::optional(std::move(*outcome));
  auto& pairs = std::get<PairTimes>(result);
  CUCO_TRY_ASSIGN(const measure::Bound bound, this->bound(shape));
  const double seconds = median(pairs.candidate.seconds);
  if (measure::is_too_fast(seconds, bound.seconds)) {
    return std::optional<Outcome>(candidate::Quarantined{seconds, bound.seconds, shape.name});
  }
  scored->hardware = pairs.candidate.gpu;
  scored->shapes.push_back(shape_time(shape, seconds, median(pairs.incumbent.seconds), bound));
  measured_.push_back({shape.name, std::move(pairs)});
  return std::optional<Outcome>();
}

Result<Outcome> Judge::run(const system::Path& object, Fidelity fidelity) {
  if (cluster_.real) return run_on_gpu(object, fidelity);
  candidate::Scored scored;
  auto checks = workload_.shapes_for(workload::Use::Check);
  auto timed = workload_.shapes_for(workload::Use::Time);
  std::vector<const workload::Shape*> hidden;
  if (fidelity == Fidelity::Quick) {
    checks.resize(1);
    timed.resize(1);
  }
  if (fidelity == Fidelity::Final) hidden = workload_.shapes_for(workload::Use::Hidden);
  const int schedules = fidelity == Fidelity::Quick ? 0 : fidelity == Fidelity::Standard ? 1 : 4;
  const int surprises = std::min(schedules, 2);
  scored.checked_shapes = static_cast<int>(checks.size());
  scored.checked_hidden_shapes = static_cast<int>(hidden.size());
  // Held back, slow, late deliveries; and the adversarial ones.
  scored.checked_schedules =
      (workload_.ranks > 1 ? workload_.budget.iterations + 1 : 1) + schedules;

  for (const workload::Shape* shape : checks) {
    CUCO_TRY_ASSIGN(auto outcome, check_shape(object, *shape, schedules));
    if (outcome) return *std::move(outcome);
  }
  for (const workload::Shape* shape : hidden) {
    CUCO_TRY_ASSIGN(auto outcome, check_shape(object, *shape, 1));
    if (outcome) return *std::move(outcome);
  }
  CUCO_TRY_ASSIGN(auto wrong_at_size, check_full_shapes(object, &scored));
  if (wrong_at_size) return *std::move(wrong_at_size);
  for (const workload::Shape* shape : timed) {
    CUCO_TRY_ASSIGN(const Seed* known, seed(*shape, surprises));
    CUCO_TRY_ASSIGN(TrialResult result, time_trial(object, *shape, &known->outputs, surprises));
    if (auto* outcome = std::get_if<Outcome>(&result)) {
      explain(object, *shape, outcome);
      return std::move(*outcome);
    }
    CUCO_TRY_ASSIGN(const measure::Bound bound, this->bound(*shape));
    const auto& times = std::get<TrialTimes>(result);
    candidate::ShapeTime time = shape_time(*shape, median(times.seconds), known->seconds, bound);
    if (measure::is_too_fast(time.seconds, time.bound_seconds)) {
      return Outcome(candidate::Quarantined{time.seconds, time.bound_seconds, shape->name});
    }
    if (fidelity != Fidelity::Quick) CUCO_TRY(add_profile(object, *shape, &time));
    scored.shapes.push_back(std::move(time));
  }
  return score(std::move(scored));
}

Result<void> Judge::add_profile(const system::Path& object,
                                const workload::Shape& shape,
                                candidate::ShapeTime* time) {
  const Stages::Lap lap(&stages_, "profile");
  TrialSpec spec = trial_spec(object, shape);
  spec.check_limit = kTimedCheckLimit;
  spec.stages = nullptr;
  spec.iterations = 2;  // the first loads the code
  spec.cluster.seed = 0;
  spec.cluster.profile = true;
  CUCO_TRY_ASSIGN(TrialResult result, run_in_new_surroundings(spec));
  if (auto* times = std::get_if<TrialTimes>(&result)) {  // or it does not pass every time
    time->phases = std::move(times->profile.phases);
    time->hot_spots = std::move(times->profile.hot_spots);
  }
  return {};
}

Result<Outcome> Judge::score(candidate::Scored scored) {
  const auto count = static_cast<double>(scored.shapes.size());
  double seconds = 0;
  double baseline_seconds = 0;
  double bound_seconds = 0;
  for (const candidate::ShapeTime& time : scored.shapes) {
    seconds += std::log(time.seconds) / count;
    baseline_seconds += std::log(time.baseline_seconds) / count;
    bound_seconds += std::log(time.bound_seconds) / count;
  }
  scored.seconds = std::exp(seconds);
  scored.baseline_seconds = std::exp(baseline_seconds);
  scored.bound_seconds = std::exp(bound_seconds);
  scored.score = measure::score(scored.seconds, scored.baseline_seconds, scored.bound_seconds);
  scored.predicted = !cluster_.real;
  if (scored.predicted) scored.hardware = gpu_.key;
  return Outcome(std::move(scored));
}

Result<std::vector<ShapeMemory>> Judge::memory_of_shapes() const {
  std::vector<ShapeMemory> sizes;
  for (const workload::Shape& shape : workload_.shapes) {
    ShapeMemory size{shape.name, 0, gpu_.memory_bytes};
    for (const auto* rules : {&workload_.inputs, &workload_.outputs}) {
      CUCO_TRY_ASSIGN(const auto buffers, workload_.buffers(*rules, shape));
      for (const workload::Buffer& buffer : buffers)
        size.bytes += buffer.bytes() + rank::kGuardBytes;
    }
    size.bytes *= static_cast<std::uint64_t>(workload_.budget.sets);
    sizes.push_back(std::move(size));
  }
  return sizes;
}

Result<std::vector<OracleTest>> Judge::test_oracle() const {
  std::vector<OracleTest> all;
  for (const workload::Shape* shape : workload_.shapes_for(workload::Use::Check)) {
    CUCO_TRY_ASSIGN(Oracle oracle, Oracle::start(oracle_));
    CUCO_TRY_ASSIGN(const auto tests, judge::test_oracle(workload_, *shape, secret_, oracle));
    all.insert(all.end(), tests.begin(), tests.end());
  }
  return all;
}

Result<const Judge::Seed*> Judge::seed(const workload::Shape& shape, int surprises) {
  const std::lock_guard lock(seeds_mutex_);
  const std::pair key(shape.name, surprises);
  if (const auto known = seeds_.find(key); known != seeds_.end()) return &known->second;
  const Stages::Lap lap(&stages_, "seed");
  CUCO_TRY_ASSIGN(Built built, build(workload_.program, nullptr, false));
  const auto failed = [&](const Outcome& outcome) {
    return Error{ErrorKind::InvalidInput, fmt::format("the seed of {} does not pass: {}",
                                                      workload_.name, candidate::summary(outcome))};
  };
  if (const auto* outcome = std::get_if<Outcome>(&built)) return failed(*outcome);
  CUCO_TRY_ASSIGN(TrialResult result,
                  time_trial(std::get<system::Path>(built), shape, nullptr, surprises));
  if (const auto* outcome = std::get_if<Outcome>(&result)) return failed(*outcome);
  auto& times = std::get<TrialTimes>(result);
  return &(seeds_[key] = {median(times.seconds), std::move(times.outputs)});
}

Result<double> Judge::baseline(const workload::Shape& shape) {
  CUCO_TRY_ASSIGN(const Seed* known, seed(shape, 0));
  return known->seconds;
}

Result<measure::Bound> Judge::bound(const workload::Shape& shape) const {
  return workload::bound_of(workload_, shape, gpu_, topology_);
}

}  // namespace cuco::judge
