// SPDX-License-Identifier: Apache-2.0
//
// The order of things is the argument. Buffers exist before the candidate is loaded, so their
// addresses are known from trusted code. Inputs are written, and outputs poisoned, while every rank
// is parked, so there is nothing to start early with. The clock starts for all at one virtual time
// and stops when the last piece of work that any rank ever handed in has ended. Then memory is read
// by us, not by the candidate, and the same holds for what must not have changed.
#include "judge/trial/trial.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <numeric>

#include <fmt/format.h>

#include "base/assert.h"
#include "base/printable.h"
#include "base/rng.h"
#include "base/text.h"
#include "judge/trial/findings.h"
#include "rank/rank_job.h"

namespace cuco::judge {
namespace {

using candidate::Outcome;
using wire::JudgeReport;

// Of each rank's processor time in cuco_run; the rest is added to its virtual time. Our libraries
// need it to pass calls on, and what they need is not quite the same every time.
constexpr std::chrono::milliseconds kFreeHostTime{10};

// A budget is meant for a run that nobody watches. Watched and under an adversarial schedule one
// takes several times as long, which is not the program's fault.
constexpr double kWatchedSlowdown = 5;

struct HostTime {
  std::chrono::nanoseconds all{};
  std::chrono::nanoseconds most{};          ///< Of one rank.
  std::chrono::duration<double> charged{};  ///< Of that, what is beyond the free.
};

HostTime host_time(const std::vector<std::chrono::nanoseconds>& before,
                   const std::vector<std::chrono::nanoseconds>& after) {
  HostTime host;
  for (std::size_t i = 0; i < std::min(before.size(), after.size()); ++i) {
    const auto used = after[i] - before[i];
    host.all += used;
    host.most = std::max(host.most, used);
  }
  if (host.most > kFreeHostTime) host.charged = host.most - kFreeHostTime;
  return host;
}

std::chrono::milliseconds in_ms(double seconds) {
  return std::chrono::milliseconds(static_cast<std::int64_t>(seconds * 1000));
}

}  // namespace

Outcome Trial::crashed(std::string reason) {
  ranks_->kill();
  const auto outcome = ranks_->wait(std::nullopt);
  if (outcome && *outcome) {
    const system::JobOutcome& job = **outcome;
    if (job.ending != system::Ending::Cancelled && job.ending != system::Ending::Exited) {
      reason = describe(job);
    }
    // The candidate's own output: for a person or a proposer to read, never to be parsed.
    const std::string_view output = trim(job.err);
    if (!output.empty())
      reason += (reason.empty() ? "" : "\n") + std::string(output.substr(0, 2000));
  }
  if (reason.empty()) reason = "the ranks ended before they should";
  return candidate::Crashed{.reason = printable(as_in_the_source(std::move(reason))),
                            .shape = spec_.shape.name};
}

Result<std::optional<Outcome>> Trial::lost_buffers(const Error& error) {
  if (error.kind() != ErrorKind::NotFound) return error;
  return std::optional(crashed("buffers that the judge had given were freed"));
}

Result<Trial::Step> Trial::wait_for(std::string_view stage,
                                    double limit_seconds,
                                    std::chrono::nanoseconds cpu) {
  const auto before = ranks_->cpu_time();
  const bool limited = cpu != std::chrono::nanoseconds::max();
  CUCO_TRY_ASSIGN(targets::TargetEvent event,
                  target_.wait(*ranks_, {in_ms(limit_seconds), limited ? before + cpu : cpu}));
  if (const auto* busy = std::get_if<targets::HostBusy>(&event))
    return Step(too_busy(busy->used - before));
  if (const auto* late = std::get_if<targets::OutOfTime>(&event)) {
    if (!late->virtual_seconds)
      return Step(Outcome(candidate::TimedOut{std::string(stage), limit_seconds}));
    return Step(Outcome(
        candidate::TimedOut{fmt::format("{} in virtual time", stage), *late->virtual_seconds}));
  }
  if (auto* stuck = std::get_if<targets::Deadlocked>(&event)) {
    for (std::string& line : stuck->waits)
      line = as_in_the_source(std::move(line));
    return Step(Outcome(candidate::Deadlock{spec_.shape.name, std::move(stuck->waits)}));
  }
  if (const auto* died = std::get_if<targets::RanksDied>(&event))
    return Step(crashed(join(died->who, "\n")));
  auto& all = std::get<targets::AllReported>(event);
  for (const targets::RankState& rank : all.ranks) {
    if (rank.code == 0) continue;
    return Step(crashed(fmt::format("{} failed with {} on rank {}{}{}", stage, rank.code, rank.rank,
                                    rank.tail.empty() ? "" : ": ", rank.tail.substr(0, 2000))));
  }
  return Step(std::move(all));
}

Result<std::optional<Outcome>> Trial::checker_findings() {
  CUCO_TRY_ASSIGN(const auto found, target_.findings());
  auto findings = for_verdict(found);
  if (findings.empty()) return std::optional<Outcome>();
  return std::optional<Outcome>(candidate::Findings{std::move(findings), disturbance_.name});
}

Result<std::optional<Outcome>> Trial::begin() {
  CUCO_TRY_ASSIGN(auto trouble, allocate());
  if (trouble) return trouble;
  // From here on the ranks' processes are the candidate's.
  const Stages::Lap lap(spec_.stages, "set-up");
  CUCO_TRY(target_.command_all(JudgeReport::kSetUpNow));
  CUCO_TRY_ASSIGN(Step ready, wait_for("cuco_setup", spec_.workload.budget.setup_seconds));
  if (auto* outcome = std::get_if<Outcome>(&ready)) return std::optional(std::move(*outcome));
  return std::optional<Outcome>();
}

Result<std::optional<Outcome>> Trial::allocate() {
  const workload::Workload& workload = spec_.workload;
  const double limit = workload.budget.setup_seconds;
  CUCO_TRY_ASSIGN(Step started, wait_for("start", limit));
  if (auto* outcome = std::get_if<Outcome>(&started)) return std::optional(std::move(*outcome));
  CUCO_TRY(target_.command(JudgeReport::kMakeId, 0, {}, 0));
  CUCO_TRY_ASSIGN(Step made, wait_for("start", limit));
  if (auto* outcome = std::get_if<Outcome>(&made)) return std::optional(std::move(*outcome));

  rank::RankJob job;
  const std::string& id = std::get<targets::AllReported>(made).ranks.front().tail;
  if (id.size() != rank::kUniqueIdBytes)
    return Error{ErrorKind::Protocol, "cuco-rank: no unique id"};
  std::memcpy(job.unique_id.data(), id.data(), id.size());
  job.ranks = workload.ranks;
  job.sets = spec_.wanted_sets();
  job.params = spec_.shape.params;
  CUCO_TRY(memory_.describe(&job));
  CUCO_TRY(target_.command_all(JudgeReport::kAllocate, rank::encode_rank_job(job)));
  CUCO_TRY_ASSIGN(Step allocated, wait_for("allocation", limit));
  if (auto* outcome = std::get_if<Outcome>(&allocated)) return std::optional(std::move(*outcome));
  for (const targets::RankState& rank : std::get<targets::AllReported>(allocated).ranks)
    CUCO_TRY(memory_.add_rank(rank.tail));
  return std::optional<Outcome>();
}

Disturbance Trial::disturb(int iteration) const {
  if (spec_.machine.schedule_seed != 0) {
    return {
        .handicap = {},
        .name = fmt::format("the schedule is adversarial (seed {})", spec_.machine.schedule_seed)};
  }
  const int extra = iteration - spec_.wanted_iterations();
  if (spec_.surprises > 0) {
    if (extra < 0) return {};
    // A slow GPU first: whoever has seen that its peers have begun does not know that they are
    // done.
    return extra % 2 == 1 ? delay_deliveries()
                          : hold_back(2 * extra + 2, spec_.workload.ranks, spec_.key("late", 1));
  }
  // The last but the probe is as a timed one is: it is no program's first, which loads code.
  if (!probes() || extra == -1) return {};
  if (extra == 0) return delay_deliveries();
  return hold_back(iteration + 1, spec_.workload.ranks, spec_.key("late", 0));
}

double Trial::run_limit() const {
  const double slowdown = spec_.machine.check ? kWatchedSlowdown : 1;
  return std::min(slowdown * spec_.workload.budget.run_seconds, spec_.run_limit.count());
}

// Little of the host's time is free, and what is done there must be next to nothing.
Outcome Trial::host_finding(int rank, std::string kind, std::string message) const {
  candidate::Finding item{.kind = std::move(kind), .message = std::move(message)};
  item.where.rank = rank;
  item.hint = "compute and communicate on the device";
  return candidate::Findings{{std::move(item)}, disturbance_.name};
}

Outcome Trial::too_busy(std::chrono::nanoseconds cpu) const {
  return host_finding(
      -1, "host computation",
      fmt::format(
          "cuco_run used {:.2f} s of host CPU time on all ranks, at most {:.2f} s may be used",
          std::chrono::duration<double>(cpu).count(), spec_.workload.budget.host_seconds));
}

std::optional<Outcome> Trial::check_copies(const targets::AllReported& all) const {
  const std::int64_t most = spec_.workload.budget.host_bytes;
  for (const targets::RankState& rank : all.ranks) {
    if (rank.copied_to_host <= static_cast<std::uint64_t>(most)) continue;
    return host_finding(
        rank.rank, "device-to-host copy",
        fmt::format("{} bytes were copied to the host inside cuco_run, at most {} may be",
                    rank.copied_to_host, most));
  }
  return std::nullopt;
}

Result<std::optional<Outcome>> Trial::iterate(const std::vector<Turn>& turns) {
  const int iteration = turns.front().iteration;
  const auto count = static_cast<int>(turns.size());
  const workload::Budget& budget = spec_.workload.budget;
  {
    const Stages::Lap lap(spec_.stages, "inputs");
    if (const auto placed = memory_.place(turns); !placed) return lost_buffers(placed.error());
  }
  const auto cpu_before = ranks_->cpu_times();
  const std::chrono::nanoseconds cpu_limit(
      static_cast<std::int64_t>(budget.host_seconds * 1e9 * count));
  std::optional<Stages::Lap> lap(std::in_place, spec_.stages, "run");
  disturbance_ = disturb(iteration);
  if (spec_.machine.profile) CUCO_TRY(target_.forget_profile());
  CUCO_TRY_ASSIGN(const std::int64_t begin, start(turns));
  CUCO_TRY_ASSIGN(Step step, wait_for("cuco_run", run_limit() * count, cpu_limit));
  if (auto* outcome = std::get_if<Outcome>(&step)) {
    // Why it stands still or was stopped; whoever takes too long may not be able to tell.
    if (std::holds_alternative<candidate::TimedOut>(*outcome)) return std::optional(*outcome);
    CUCO_TRY_ASSIGN(auto found, checker_findings());
    return found ? std::move(found) : std::optional(std::move(*outcome));
  }
  CUCO_TRY_ASSIGN(auto found, checker_findings());
  if (found) return found;
  lap.emplace(spec_.stages, "check");
  const targets::AllReported& all = std::get<targets::AllReported>(step);
  if (auto outcome = check_copies(all)) return outcome;
  const HostTime host = host_time(cpu_before, ranks_->cpu_times());
  if (spec_.stages != nullptr)
    spec_.stages->note_host(std::chrono::duration<double>(host.most).count());
  if (host.all > cpu_limit) return std::optional(too_busy(host.all));
  const auto last = std::ranges::max_element(all.ranks, {}, &targets::RankState::time_ps);
  const std::int64_t end = std::max(begin, last->time_ps);
  if (spec_.machine.profile) {
    CUCO_TRY_ASSIGN(std::string report, target_.profile());
    CUCO_TRY_ASSIGN(times_.profile, read_profile(report, {last->rank, begin, end}));
    if (spec_.machine.timeline || spec_.machine.blocks) {
      times_.profile.report = std::move(report);
      times_.profile.begin_ps = begin;
    }
  }
  auto checked = memory_.check(disturbance_.name);
  if (!checked) return lost_buffers(checked.error());
  std::optional<Outcome> outcome = *std::move(checked);
  if (spec_.surprises > 0 && iteration >= spec_.wanted_iterations()) return outcome;
  const double on_gpus = static_cast<double>(end - begin) * 1e-12;
  if (!outcome && disturbance_.is_probe) {
    // The host's time is not the same twice; the probe asks how long the GPUs waited.
    const std::uint64_t deliveries = all.ranks.front().deliveries;
    const auto finding = judge_probe(deliveries, times_.undisturbed, on_gpus);
    return finding ? std::optional<Outcome>(candidate::Findings{{*finding}, disturbance_.name})
                   : std::nullopt;
  }
  if (disturbance_.name.empty()) times_.undisturbed = on_gpus;
  const double seconds = (on_gpus + (target_.is_measured() ? 0 : host.charged.count())) / count;
  times_.seconds.push_back(seconds);
  times_.iterations.push_back(count);
  const auto& longest = *std::ranges::max_element(all.ranks, {}, &targets::RankState::kernel_ps);
  times_.filling = {longest.blocks_per_sm, longest.waves};
  if (target_.is_measured()) {
    times_.samples.push_back(all.ranks.front().seen);
    times_.samples.back().seconds = seconds;
  }
  return outcome;
}

Result<std::int64_t> Trial::start(const std::vector<Turn>& turns) {
  if (turns.size() == 1) return target_.run_all(turns.front().set, disturbance_.handicap);
  std::vector<int> sets;
  for (const Turn& turn : turns)
    sets.push_back(turn.set);
  return target_.run_batch(sets);
}

Result<std::variant<double, Outcome>> Trial::time_batch(int first, int count) {
  using Timed = std::variant<double, Outcome>;
  CUCO_ASSERT(count >= 1 && count <= spec_.wanted_sets());
  std::vector<Turn> turns = turn_of(first);
  for (int i = 1; i < count; ++i)
    turns.push_back({first + i, (turns.front().set + i) % spec_.wanted_sets()});
  CUCO_TRY_ASSIGN(auto outcome, iterate(turns));
  if (outcome) return Timed(*std::move(outcome));
  return Timed(times_.seconds.back());
}

Result<std::variant<double, Outcome>> Trial::time_one(int iteration) {
  return time_batch(iteration, 1);
}

Result<TrialResult> Trial::run() {
  {
    const Stages::Lap lap(spec_.stages, "start");
    CUCO_TRY_ASSIGN(auto trouble, begin());
    if (trouble) return TrialResult(*std::move(trouble));
  }
  for (const int iteration : plan()) {
    CUCO_TRY_ASSIGN(auto outcome, iterate(turn_of(iteration)));
    if (outcome) return TrialResult(*std::move(outcome));
  }
  CUCO_TRY_ASSIGN(auto trouble, finish());
  if (trouble) return TrialResult(*std::move(trouble));
  times_.outputs = memory_.take_outputs();
  return TrialResult(std::move(times_));
}

std::vector<int> Trial::plan() const {
  const bool probed = probes() && spec_.machine.schedule_seed == 0;
  const int extra = spec_.surprises > 0 ? spec_.surprises : probed ? 1 : 0;
  std::vector<int> order(static_cast<std::size_t>(spec_.wanted_iterations() + extra));
  std::iota(order.begin(), order.end(), 0);
  if (spec_.surprises == 0) return order;
  Rng rng(spec_.key("surprise", 0));
  for (std::size_t i = order.size(); i > 1; --i)
    std::swap(order[i - 1], order[rng.below(i)]);
  return order;
}

/// A candidate's teardown can no longer change a result, but its user will call it: it has to end,
/// and to give back what was made.
Result<std::optional<Outcome>> Trial::finish() {
  const Stages::Lap lap(spec_.stages, "end");
  const double limit = spec_.workload.budget.setup_seconds;
  CUCO_TRY(target_.command_all(JudgeReport::kFinish));
  CUCO_TRY_ASSIGN(const auto ended, ranks_->wait(in_ms(limit)));
  if (!ended) return std::optional<Outcome>(candidate::TimedOut{"cuco_teardown", limit});
  if (ended->ending == system::Ending::Signalled) {
    return std::optional<Outcome>(candidate::Crashed{
        .reason = printable("cuco_teardown: " + describe(*ended)), .shape = spec_.shape.name});
  }
  return checker_findings();
}

Result<TrialResult> run_trial(const TrialSpec& spec, Bench bench, BenchMaker& maker) {
  std::optional<Stages::Lap> lap(std::in_place, spec.stages, "start");
  CUCO_TRY_ASSIGN(auto ranks, maker.start_ranks(spec, *bench.target));
  lap.reset();
  return Trial(spec, std::move(bench), std::move(ranks)).run();
}

}  // namespace cuco::judge
