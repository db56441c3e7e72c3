// SPDX-License-Identifier: Apache-2.0
#include "judge/whole/whole_program_judge.h"

#include <algorithm>
#include <array>
#include <limits>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "base/text.h"
#include "judge/effort.h"
#include "judge/provenance.h"
#include "judge/trial/findings.h"
#include "measure/speed_of_light.h"
#include "ptx/container/executable.h"
#include "targets/virtual/machine_files.h"
#include "targets/virtual/run_trace.h"

namespace cuco::judge {
namespace {

using candidate::Outcome;

constexpr const char* kDifference = "differs from the seed";
/// Of what one run brings back; beyond it there are digests.
constexpr std::uint64_t kKeptBytes = std::uint64_t{256} << 20U;

bool links_mpi(const system::Path& program) {
  const auto bytes = system::read_file(program);
  if (!bytes) return false;
  const auto executable = ptx::probe_executable(std::as_bytes(std::span(*bytes)));
  return executable && executable->mpi == ptx::Linked::Dynamically;
}

/// What collectives of our own need once, before a program's own work and behind it: fills of their
/// flags, and kernels in which ranks meet. NCCL's set-up is no device work, so theirs is not timed
/// either.
bool is_set_up(const std::string& what) {
  constexpr std::array<std::string_view, 3> kKernels = {
      "N4cuco12last_meeting", "N4cuco10find_bases", "N4cuco12find_largest"};
  return what.starts_with("fill of ") || std::ranges::any_of(kKernels, [&](std::string_view name) {
           return what.find(name) != std::string::npos;
         });
}

/// From the start of the first device work to the end of the last. `trusted`: the text is ours or
/// the user's, so that a kernel is what its name says, and set-up does not start or stop the clock.
double device_seconds(const std::string& report, bool trusted) {
  const auto json = parse_json(report);
  if (!json) return 0;
  std::int64_t first = std::numeric_limits<std::int64_t>::max();
  std::int64_t last = 0;
  for (const Json& work : json->value("works", Json::array())) {
    if (trusted && is_set_up(work.value("what", std::string()))) continue;
    first = std::min(first, work.value("started_ps", std::int64_t{0}));
    last = std::max(last, work.value("finished_ps", std::int64_t{0}));
  }
  return last > first ? static_cast<double>(last - first) * 1e-12 : 0;
}

}  // namespace

Result<std::unique_ptr<WholeProgramJudge>> WholeProgramJudge::create(WholeProgram program,
                                                                     const JudgeOptions& options) {
  if (!candidate::is_predicted(options.on)) {
    return Error{ErrorKind::Unavailable,
                 fmt::format("--on {}: whole programs are judged on the virtual cluster only; on "
                             "real GPUs time them with: cuco run --on {}",
                             candidate::name(options.on), candidate::name(options.on))};
  }
  if (!options.topology.empty()) program.topology = options.topology;
  program.rules.exact = program.rules.exact || options.exact;
  CUCO_TRY_ASSIGN(const workload::Secret secret,
                  workload::Secret::load(options.cache, options.seed));
  std::unique_ptr<WholeProgramJudge> judge(new WholeProgramJudge(std::move(program), secret));
  judge->timeline_ = options.timeline;
  judge->on_progress_ = options.on_progress;
  judge->always_watches_ = options.check;
  const WholeProgram& whole = judge->program_;
  CUCO_TRY_ASSIGN(const system::Path file, targets::find_topology(whole.topology));
  CUCO_TRY_ASSIGN(const std::string text, system::read_file(file));
  CUCO_TRY_ASSIGN(judge->topology_, fabric::parse_topology(text, file.string()));
  judge->server_.topology = file;
  judge->server_.devices = static_cast<std::uint32_t>(whole.ranks);
  CUCO_TRY_ASSIGN(judge->server_.gpu,
                  system::find_data("hardware/" + judge->topology_.gpu + ".toml"));
  CUCO_TRY_ASSIGN(judge->gpu_, hardware::load_gpu_description(judge->server_.gpu.string(), {}));
  judge->build_.cache = options.cache / "builds";
  judge->build_.tier = options.tier;
  judge->build_.architecture =
      fmt::format("{}{}", judge->gpu_.compute_major, judge->gpu_.compute_minor);
  CUCO_TRY_ASSIGN(const auto cuda, toolchain::toolkit_of(judge->build_));
  CUCO_TRY_ASSIGN(judge->provenance_, provenance_of({whole.seed.parent_path(), judge->server_.gpu,
                                                     *judge->server_.topology},
                                                    cuda));
  return judge;
}

std::optional<candidate::MachineCode> WholeProgramJudge::build_only(
    const std::string& program, candidate::Fidelity /*fidelity*/) {
  (void)build_text(program);  // whatever comes of it, judge() finds out again
  return std::nullopt;
}

candidate::Target WholeProgramJudge::target() const {
  candidate::Target target;
  target.name = "virtual cluster";
  target.hardware = fmt::format("{} x {}", program_.ranks, gpu_.name);
  target.topology = topology_.name;
  target.facts.ranks = program_.ranks;
  target.facts.lsa_ranks = std::min(topology_.domain_size(), program_.ranks);
  target.facts.gin = topology_.nic.has_value();
  target.facts.multimem = topology_.multicast;
  return target;
}

Result<WholeProgramJudge::Built> WholeProgramJudge::build_text(const std::string& text) const {
  CUCO_TRY_ASSIGN(auto built, toolchain::build_whole_program(text, program_.flags, build_));
  if (auto* failed = std::get_if<toolchain::CompileError>(&built))
    return Built(Outcome(candidate::BuildFailed{std::move(failed->message)}));
  if (const auto* late = std::get_if<toolchain::CompileTimeout>(&built))
    return Built(Outcome(candidate::TimedOut{"build", late->limit_seconds}));
  return Built(std::get<system::Path>(std::move(built)));
}

Result<targets::KeptRun> WholeProgramJudge::run(const system::Path& built,
                                                const Circumstances& how) const {
  targets::ServerOptions options = server_;
  // Which schedules is a secret of the run; 0 is the plain one.
  if (how.schedule != 0) {
    options.schedule_seed =
        1 + secret_.key(fmt::format("schedule {}", how.schedule)) % 1'000'000'000;
  }
  options.reports = how.schedule == 0 && !how.is_watched;
  options.timeline = options.reports && !timeline_.empty();
  options.keep_copies = kKeptBytes;
  options.check = how.is_watched;
  options.variation = how.variation;
  targets::ProgramStart start{
      .argv = {built.string()}, .uses_mpi = links_mpi(built), .fences = build_.tier};
  start.argv.insert(start.argv.end(), program_.args.begin(), program_.args.end());
  if (start.uses_mpi) options.processes = options.devices;
  return targets::run_and_keep(start, options, [] { return false; });
}

Result<const WholeProgramJudge::Seed*> WholeProgramJudge::seed() {
  const std::lock_guard lock(mutex_);
  if (!seed_) {
    CUCO_TRY_ASSIGN(seed_, run_seed());
  }
  return &*seed_;
}

Result<WholeProgramJudge::Seed> WholeProgramJudge::run_seed() const {
  const auto invalid = [&](const std::string& why) {
    return Error{ErrorKind::InvalidInput, fmt::format("the seed of {} {}", program_.name, why)};
  };
  CUCO_TRY_ASSIGN(const std::string text, system::read_file(program_.seed, 4U << 20U));
  CUCO_TRY_ASSIGN(const Built built, build_text(text));
  if (const auto* outcome = std::get_if<Outcome>(&built))
    return invalid(candidate::explanation(*outcome));
  const auto& program = std::get<system::Path>(built);
  Seed seed;
  CUCO_TRY_ASSIGN(seed.plain, run(program, {}));
  const targets::RunEnding& ending = seed.plain.ending;
  if (ending.server_failed || !ending.program.succeeded()) {
    return invalid(
        fmt::format("does not run: {}\n{}", system::describe(ending.program), seed.plain.errors));
  }
  if (seed.plain.copies.empty())
    return invalid("brings nothing back from a device: there is nothing to compare with");

  const auto sm = static_cast<std::uint32_t>(gpu_.compute_major * 10 + gpu_.compute_minor);
  CUCO_TRY_ASSIGN(const vcluster::WrittenAs types, float_types(program, sm));
  const vcluster::InputVariation variation{secret_.key("inputs of a whole program") | 1U, types};
  CUCO_TRY_ASSIGN(targets::KeptRun varied, run(program, {.variation = variation}));
  seed.other_inputs = are_taken(seed.plain, varied);
  if (seed.other_inputs == Taken::Yes) {
    seed.plain = std::move(varied);
    seed.variation = variation;
  }
  return seed;
}

Result<std::vector<candidate::Finding>> WholeProgramJudge::findings_in(const system::Path& built,
                                                                       const Seed& beside) const {
  CUCO_TRY_ASSIGN(const targets::KeptRun kept,
                  run(built, {.is_watched = true, .variation = beside.variation}));
  CUCO_TRY_ASSIGN(const auto findings, check::findings_from_json(kept.findings));
  return for_verdict(findings);
}

Result<std::vector<candidate::Finding>> WholeProgramJudge::watch(const system::Path& built,
                                                                 const Seed& beside) {
  CUCO_TRY_ASSIGN(auto found, findings_in(built, beside));
  if (found.empty()) return found;
  const std::lock_guard lock(mutex_);
  if (!seed_findings_) {
    CUCO_TRY_ASSIGN(const std::string text, system::read_file(program_.seed, 4U << 20U));
    CUCO_TRY_ASSIGN(const Built seed, build_text(text));
    CUCO_TRY_ASSIGN(seed_findings_, findings_in(std::get<system::Path>(seed), beside));
  }
  // What the seed does wrong itself is not held against who keeps it.
  std::erase_if(found, [&](const candidate::Finding& finding) {
    return std::ranges::any_of(*seed_findings_, [&](const candidate::Finding& known) {
      return known.kind == finding.kind && known.where.kernel == finding.where.kernel;
    });
  });
  return found;
}

Result<std::optional<Outcome>> WholeProgramJudge::run_beside_seed(const std::string& text,
                                                                  int schedules,
                                                                  bool is_watched,
                                                                  std::string* report) {
  const auto all = static_cast<std::size_t>(schedules + 1) + (is_watched ? 1U : 0U);
  const auto tell = [&](std::size_t done, std::size_t steps) {
    if (on_progress_) on_progress_({text, done, steps});
  };
  tell(0, 0);
  CUCO_TRY_ASSIGN(const Seed* expected, seed());
  CUCO_TRY_ASSIGN(Built built, build_text(text));
  if (auto* outcome = std::get_if<Outcome>(&built)) return std::optional(std::move(*outcome));
  const auto& program = std::get<system::Path>(built);
  for (int schedule = 0; schedule <= schedules; ++schedule) {
    tell(static_cast<std::size_t>(schedule), all);
    CUCO_TRY_ASSIGN(const targets::KeptRun kept,
                    run(program, {.schedule = schedule, .variation = expected->variation}));
    if (schedule == 0) *report = kept.report;
    candidate::Findings found;
    CUCO_TRY_ASSIGN(const auto differences,
                    compare_with_seed(expected->plain, kept, program_.rules));
    for (const std::string& difference : differences)
      found.findings.push_back({.kind = kDifference, .message = difference});
    if (found.findings.empty()) continue;
    if (schedule > 0)
      found.schedule = fmt::format("the schedule is adversarial (seed {})", schedule);
    return std::optional<Outcome>(std::move(found));
  }
  if (!is_watched) return std::optional<Outcome>();
  tell(all - 1, all);
  candidate::Findings seen;
  CUCO_TRY_ASSIGN(seen.findings, watch(program, *expected));
  return seen.findings.empty() ? std::optional<Outcome>() : std::optional<Outcome>(std::move(seen));
}

Result<Outcome> WholeProgramJudge::judge(const std::string& program, candidate::Fidelity fidelity) {
  const Effort effort = effort_of(fidelity);
  const bool is_watched = effort.watch || always_watches_;
  std::string report;
  CUCO_TRY_ASSIGN(auto outcome, run_beside_seed(program, effort.schedules, is_watched, &report));
  if (outcome) return *std::move(outcome);
  CUCO_TRY_ASSIGN(const Seed* expected, seed());
  if (!timeline_.empty()) {
    const targets::TracedRun runs[] = {{"seed", expected->plain.report}, {"candidate", report}};
    CUCO_TRY(targets::write_trace(runs, timeline_));
  }
  candidate::Scored scored;
  const bool trusted = build_.tier == system::Tier::Own;
  scored.seconds = device_seconds(report, trusted);
  scored.baseline_seconds = device_seconds(expected->plain.report, trusted);
  scored.score = measure::score(scored.seconds, scored.baseline_seconds, 0);
  scored.hardware = gpu_.key;
  scored.checked_shapes = 1;
  scored.checked_schedules = effort.schedules + 1;
  scored.shapes = {{.shape = "the whole program",
                    .seconds = scored.seconds,
                    .baseline_seconds = scored.baseline_seconds}};
  if (expected->other_inputs != Taken::Yes)
    scored.left_out.emplace_back(left_out(expected->other_inputs));
  if (!is_watched) scored.left_out.emplace_back("the checker");
  if (effort.schedules == 0) scored.left_out.emplace_back("adversarial schedules");
  return Outcome(std::move(scored));
}

Result<std::optional<Outcome>> WholeProgramJudge::check(const std::string& program) {
  std::string report;
  return run_beside_seed(program, 0, always_watches_, &report);
}

std::vector<WorkloadTest> WholeProgramJudge::test_workload(bool run_seed) {
  std::vector<WorkloadTest> tests{
      {"workload.toml and program.cu", true, std::string(kWholeProgramMark)}};
  if (!run_seed) return tests;
  WorkloadTest& test = tests.emplace_back(
      WorkloadTest{"the seed copies data back, and the same data under another schedule"});
  const auto text = system::read_file(program_.seed, 4U << 20U);
  std::string report;
  const auto outcome = text ? run_beside_seed(*text, 1, false, &report)
                            : Result<std::optional<Outcome>>(text.error());
  test.passed = outcome && !*outcome;
  if (!outcome) {
    test.detail = outcome.error().message();
  } else if (*outcome) {
    test.detail = candidate::explanation(**outcome);
  } else {
    test.detail = fmt::format("copies: {}", compared_as());
  }
  return tests;
}

std::string WholeProgramJudge::basis(const candidate::Scored& scored) const {
  const std::lock_guard lock(mutex_);
  const bool varied = seed_ && seed_->other_inputs == Taken::Yes;
  return fmt::format("same as the seed: {} device-to-host copies ({}) under {} schedules{}{}",
                     seed_ ? seed_->plain.copy_log.size() : 0, compared_as(),
                     scored.checked_schedules, varied ? ", with other inputs than its own" : "",
                     reservations(scored));
}

std::string WholeProgramJudge::compared_as() const {
  if (!seed_) return "none";
  const auto described = describe_copies(seed_->plain, program_.rules);
  return described ? *described : described.error().message();
}

std::string_view WholeProgramJudge::verdict(const Outcome& outcome) const {
  if (std::holds_alternative<candidate::Scored>(outcome)) return "same";
  return std::holds_alternative<candidate::Findings>(outcome) ? "different"
                                                              : candidate::verdict(outcome);
}

}  // namespace cuco::judge
