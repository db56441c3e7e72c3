// SPDX-License-Identifier: Apache-2.0
//
// The order of things is the argument. Buffers exist before the candidate is loaded, so their
// addresses are known from trusted code. Inputs are written, and outputs poisoned, while every rank
// is parked, so there is nothing to start early with. The clock starts for all at one virtual time
// and stops when the last piece of work that any rank ever handed in has ended. Then memory is read
// by us, not by the candidate, and the same holds for what must not have changed.
#include "evaluation/trial.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <map>

#include <fmt/format.h>

#include "base/rng.h"
#include "base/text.h"
#include "evaluation/rank_job.h"
#include "evaluation/reference.h"

namespace cuco::evaluation {
namespace {

using candidate::Outcome;
using wire::JudgeReport;

/// Far longer than any honest iteration on a check shape.
constexpr std::int64_t kLatePs = 2'000'000'000;  // 2 ms
constexpr std::int32_t kSlowdown = 64;
constexpr std::int64_t kProbePs = 1'000'000'000;  // 1 ms

std::chrono::milliseconds in_ms(double seconds) {
  return std::chrono::milliseconds(static_cast<std::int64_t>(seconds * 1000));
}

/// Source lines as the candidate's author knows them: "program.cu:39", not where it was built.
std::string without_build_folder(std::string text) {
  constexpr std::string_view kMarker = "/cuco-build.";
  for (std::size_t at = text.find(kMarker); at != std::string::npos; at = text.find(kMarker)) {
    const std::size_t begin = text.find_last_of(" \n(", at) + 1;
    const std::size_t end = text.find('/', at + 1);
    if (end == std::string::npos) break;
    text.erase(begin, end + 1 - begin);
  }
  return text;
}

/// Every 16-bit half is a NaN in bf16, and every word one in fp32; the payload is new each time.
std::string poison(std::size_t bytes, std::uint64_t seed) {
  Rng rng(seed);
  const auto half = [&] { return static_cast<std::uint16_t>(0x7FC1U + rng.below(0x3EU)); };
  const std::uint16_t first = half();
  const std::uint16_t second = half();
  std::string text(bytes, '\0');
  for (std::size_t i = 0; i + 1 < bytes; i += 2) {
    std::memcpy(text.data() + i, i % 4 == 0 ? &first : &second, 2);
  }
  return text;
}

class Trial {
 public:
  Trial(const TrialSpec& spec, Oracle& oracle, VirtualCluster cluster, system::Process ranks)
      : spec_(spec), oracle_(oracle), cluster_(std::move(cluster)), ranks_(std::move(ranks)) {}

  Result<TrialResult> run();

  // The same step by step, for pairs.
  Result<std::optional<Outcome>> begin() { return prepare(); }
  /// The iteration's seconds, or what went wrong.
  Result<std::variant<double, Outcome>> time_one(int iteration);
  [[nodiscard]] const TrialTimes& times() const { return times_; }

 private:
  /// What the ranks say after a step; an Outcome if they did not all end it well.
  using Step = std::variant<AllReported, Outcome>;
  Result<Step> wait_for(std::string_view stage,
                        double limit_seconds,
                        std::chrono::nanoseconds cpu = std::chrono::nanoseconds::max());
  Outcome crashed(std::string reason);
  Result<std::optional<Outcome>> prepare();
  VirtualCluster::Late choose_late(int iteration);
  [[nodiscard]] bool probes() const { return spec_.hold_back && spec_.workload.ranks > 1; }
  /// One iteration: runs, checks, and notes its time.
  Result<std::optional<Outcome>> iterate(int iteration, int set);
  std::optional<Outcome> judge_probe(const AllReported& all, double seconds) const;
  Result<void> place_inputs(int iteration, int set);
  Result<std::optional<Outcome>> check(int iteration, int set);
  Result<std::optional<Outcome>> check_output(int iteration, int rank, std::size_t output);
  std::optional<std::size_t> unlike_element(
      int iteration, int rank, std::size_t output, const std::string& bytes, double scale) const;
  Result<std::optional<Outcome>> check_untouched(int rank, int set);
  std::optional<Outcome> check_copies(const AllReported& all) const;
  Outcome too_busy(std::chrono::nanoseconds cpu) const;
  Outcome host_finding(int rank, std::string kind, std::string message) const;
  candidate::WrongResult wrong(int iteration, int rank, std::string what) const;

  [[nodiscard]] std::uint64_t input_at(int rank, int set, std::size_t i) const {
    return addresses_[static_cast<std::size_t>(rank)]
                     [static_cast<std::size_t>(set) * inputs_.size() + i];
  }
  [[nodiscard]] std::uint64_t output_at(int rank, int set, std::size_t i) const {
    const std::size_t outputs_from =
        static_cast<std::size_t>(spec_.workload.budget.sets) * inputs_.size();
    return addresses_[static_cast<std::size_t>(rank)]
                     [outputs_from + static_cast<std::size_t>(set) * outputs_.size() + i];
  }
  [[nodiscard]] std::uint64_t key(std::string_view purpose, int iteration) const {
    return spec_.secret.key(
        fmt::format("{} {}/{} {}", purpose, spec_.workload.name, spec_.shape.name, iteration));
  }

  const TrialSpec& spec_;
  Oracle& oracle_;
  VirtualCluster cluster_;
  system::Process ranks_;
  std::vector<Buffer> inputs_;
  std::vector<Buffer> outputs_;
  std::vector<std::vector<std::uint64_t>> addresses_;            ///< By rank: inputs, then outputs.
  std::map<std::pair<int, std::size_t>, std::string> pristine_;  ///< Inputs of this iteration.
  std::map<std::pair<int, std::size_t>, std::string> previous_;  ///< Outputs of the last one.
  std::vector<Answer> answers_;  ///< Of this iteration, if there is a reference.
  TrialTimes times_;
  std::string poison_;
  std::string guard_;
  std::string schedule_;  ///< Of this iteration, for reports; empty: the plain one.
};

Outcome Trial::crashed(std::string reason) {
  ranks_.kill();
  const auto outcome = ranks_.wait();
  if (outcome && *outcome) {
    const system::JobOutcome& job = **outcome;
    if (job.ending != system::Ending::Cancelled && job.ending != system::Ending::Exited) {
      reason = describe(job);
    }
    // Words of the candidate's process: for a person or a proposer to read, never to be parsed.
    const std::string_view words = trim(job.err);
    if (!words.empty()) reason += (reason.empty() ? "" : "\n") + std::string(words.substr(0, 2000));
  }
  if (reason.empty()) reason = "the ranks ended before they were told to";
  return candidate::Crashed{.reason = without_build_folder(std::move(reason)),
                            .shape = spec_.shape.name};
}

Result<Trial::Step> Trial::wait_for(std::string_view stage,
                                    double limit_seconds,
                                    std::chrono::nanoseconds cpu) {
  const auto before = ranks_.cpu_time();
  const bool limited = cpu != std::chrono::nanoseconds::max();
  CUCO_TRY_ASSIGN(ClusterEvent event,
                  cluster_.wait(ranks_, {in_ms(limit_seconds), limited ? before + cpu : cpu}));
  if (const auto* busy = std::get_if<HostBusy>(&event)) return Step(too_busy(busy->used - before));
  if (std::holds_alternative<OutOfTime>(event)) {
    return Step(Outcome(candidate::TimedOut{std::string(stage), limit_seconds}));
  }
  if (auto* stuck = std::get_if<NothingMoves>(&event)) {
    for (std::string& line : stuck->waits)
      line = without_build_folder(std::move(line));
    return Step(Outcome(candidate::DeadLock{spec_.shape.name, std::move(stuck->waits)}));
  }
  if (const auto* died = std::get_if<RanksDied>(&event))
    return Step(crashed(join(died->who, "\n")));
  auto& all = std::get<AllReported>(event);
  for (const RankState& rank : all.ranks) {
    if (rank.code == 0) continue;
    return Step(crashed(fmt::format("{} failed with {} on rank {}{}{}", stage, rank.code, rank.rank,
                                    rank.tail.empty() ? "" : ": ", rank.tail.substr(0, 2000))));
  }
  return Step(std::move(all));
}

Result<std::optional<Outcome>> Trial::prepare() {
  const Workload& workload = spec_.workload;
  CUCO_TRY_ASSIGN(inputs_, workload.buffers(workload.inputs, spec_.shape));
  CUCO_TRY_ASSIGN(outputs_, workload.buffers(workload.outputs, spec_.shape));
  const double limit = workload.budget.setup_seconds;
  const auto step = [&](std::string_view stage) { return wait_for(stage, limit); };
  CUCO_TRY_ASSIGN(Step started, step("start"));
  if (auto* outcome = std::get_if<Outcome>(&started)) return std::optional(std::move(*outcome));
  CUCO_TRY(cluster_.command(JudgeReport::kMakeId, 0, {}, 0));
  CUCO_TRY_ASSIGN(Step made, step("start"));
  if (auto* outcome = std::get_if<Outcome>(&made)) return std::optional(std::move(*outcome));

  RankJob job;
  const std::string& id = std::get<AllReported>(made).ranks.front().tail;
  if (id.size() != kUniqueIdBytes) return Error{ErrorKind::Protocol, "cuco-rank: no unique id"};
  std::memcpy(job.unique_id.data(), id.data(), id.size());
  if (cluster_.is_real()) times_.gpu = id.c_str();  // see cuco-device
  job.ranks = workload.ranks;
  job.sets = workload.budget.sets;
  job.params = spec_.shape.params;
  for (const Buffer& buffer : inputs_)
    job.input_bytes.push_back(buffer.bytes());
  for (const Buffer& buffer : outputs_)
    job.output_bytes.push_back(buffer.bytes());
  CUCO_TRY(cluster_.command(JudgeReport::kAllocate, 0, encode_rank_job(job)));
  CUCO_TRY_ASSIGN(Step allocated, step("allocation"));
  if (auto* outcome = std::get_if<Outcome>(&allocated)) return std::optional(std::move(*outcome));
  const std::size_t count = static_cast<std::size_t>(job.sets) * (inputs_.size() + outputs_.size());
  for (const RankState& rank : std::get<AllReported>(allocated).ranks) {
    auto addresses = wire::read_array<std::uint64_t>(wire::bytes_of_text(rank.tail), count);
    if (!addresses) return Error{ErrorKind::Protocol, "cuco-rank: no addresses"};
    addresses_.push_back(*std::move(addresses));
  }

  // From here on the ranks' processes are the candidate's.
  const Stages::Lap lap(spec_.stages, "set-up");
  CUCO_TRY(cluster_.command(JudgeReport::kSetUpNow, 0));
  CUCO_TRY_ASSIGN(Step ready, step("cuco_setup"));
  if (auto* outcome = std::get_if<Outcome>(&ready)) return std::optional(std::move(*outcome));
  return std::optional<Outcome>();
}

VirtualCluster::Late Trial::choose_late(int iteration) {
  schedule_.clear();
  if (spec_.cluster.schedule_seed != 0) {
    schedule_ = fmt::format("adversarial schedule {}", spec_.cluster.schedule_seed);
    return {};
  }
  if (!probes() || iteration == 0) return {};
  if (iteration == spec_.workload.budget.iterations) {
    schedule_ = fmt::format("every delivery is {} us late", kProbePs / 1'000'000);
    VirtualCluster::Late late;
    late.delivery_delay_ps = kProbePs;
    return late;
  }
  const auto ranks = static_cast<std::uint64_t>(spec_.workload.ranks);
  const int rank =
      static_cast<int>((key("late", 0) + static_cast<std::uint64_t>(iteration)) % ranks);
  // A late start shows who does not wait for a peer to begin; a slow GPU, who does not wait for it
  // to end.
  if (iteration % 2 == 0) {
    schedule_ = fmt::format("rank {} computes {} times slower", rank, kSlowdown);
    return {.rank = rank, .slowdown = kSlowdown};
  }
  schedule_ = fmt::format("rank {} starts {} us late", rank, kLatePs / 1'000'000);
  return {.rank = rank, .ps = kLatePs};
}

Result<void> Trial::place_inputs(int iteration, int set) {
  const std::uint64_t secret = key("input", iteration);
  guard_ = poison(kGuardBytes, key("guard", iteration));
  for (int rank = 0; rank < spec_.workload.ranks; ++rank) {
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      CUCO_TRY_ASSIGN(std::string bytes, oracle_.input(spec_.workload, spec_.shape, secret, rank,
                                                       static_cast<int>(i), inputs_[i].bytes()));
      CUCO_TRY(cluster_.write(input_at(rank, set, i), bytes));
      CUCO_TRY(cluster_.write(input_at(rank, set, i) + bytes.size(), guard_));
      pristine_[{rank, i}] = std::move(bytes);
    }
    for (std::size_t i = 0; i < outputs_.size(); ++i) {
      poison_ = poison(outputs_[i].bytes(), key("poison", iteration));
      CUCO_TRY(cluster_.write(output_at(rank, set, i), poison_));
      CUCO_TRY(cluster_.write(output_at(rank, set, i) + poison_.size(), guard_));
    }
    std::vector<VirtualCluster::Range> ranges;
    for (std::size_t i = 0; i < outputs_.size(); ++i) {
      ranges.push_back({output_at(rank, set, i), outputs_[i].bytes()});
    }
    CUCO_TRY(cluster_.order_snapshot(rank, ranges));
  }
  return {};
}

candidate::WrongResult Trial::wrong(int iteration, int rank, std::string what) const {
  candidate::WrongResult result;
  result.shape = spec_.shape.name;
  result.schedule = schedule_;
  result.output = std::move(what);
  result.iteration = iteration;
  result.rank = rank;
  return result;
}

Result<std::optional<Outcome>> Trial::check_output(int iteration, int rank, std::size_t output) {
  const Buffer& buffer = outputs_[output];
  CUCO_TRY_ASSIGN(std::string bytes, cluster_.read_snapshot(rank, output, buffer.bytes()));
  const Oracle::Question question{rank, static_cast<int>(output), buffer.type,
                                  key("sample", iteration), spec_.check_limit};
  CUCO_TRY_ASSIGN(Comparison found, oracle_.check(spec_.workload, spec_.shape, question, bytes));
  if (found.wrong == 0 && !answers_.empty()) {
    const Answer& answer = answers_[static_cast<std::size_t>(rank) * outputs_.size() + output];
    found = compare_with(std::as_bytes(std::span(bytes)), buffer.type,
                         spec_.workload.tolerance.at(buffer.type), answer.want, answer.scale);
  }
  std::optional<Outcome> outcome;
  if (found.wrong > 0) {
    candidate::WrongResult result = wrong(iteration, rank, buffer.name);
    result.index = found.index;
    result.expected = found.want;
    result.actual = found.got;
    result.wrong = found.wrong;
    result.total = static_cast<std::int64_t>(buffer.elements);
    const std::size_t at = static_cast<std::size_t>(found.index) * bytes_of(buffer.type);
    const auto same = [&](const std::string& other) {
      return other.size() == bytes.size() &&
             std::memcmp(bytes.data() + at, other.data() + at, bytes_of(buffer.type)) == 0;
    };
    if (same(poison(buffer.bytes(), key("poison", iteration)))) result.note = "never written";
    if (same(previous_[{rank, output}])) result.note = "equals the previous iteration's";
    outcome = std::move(result);
  } else if (const auto unlike = unlike_element(iteration, rank, output, bytes, found.scale)) {
    candidate::WrongResult result = wrong(iteration, rank, buffer.name);
    result.index = static_cast<std::int64_t>(*unlike);
    const std::string& seed = spec_.like->at({iteration, rank, output});
    result.expected = load_element(std::as_bytes(std::span(seed)), *unlike, buffer.type);
    result.actual = load_element(std::as_bytes(std::span(bytes)), *unlike, buffer.type);
    result.wrong = 1;
    result.total = static_cast<std::int64_t>(buffer.elements);
    result.note = "the seed has the other value on the same inputs";
    outcome = std::move(result);
  }
  if (spec_.keep_outputs) times_.outputs[{iteration, rank, output}] = bytes;
  previous_[{rank, output}] = std::move(bytes);
  return outcome;
}

std::optional<std::size_t> Trial::unlike_element(
    int iteration, int rank, std::size_t output, const std::string& bytes, double scale) const {
  if (spec_.like == nullptr) return std::nullopt;
  const auto seed = spec_.like->find({iteration, rank, output});
  if (seed == spec_.like->end() || seed->second.size() != bytes.size()) return std::nullopt;
  const Element type = outputs_[output].type;
  return first_unlike(std::as_bytes(std::span(bytes)), std::as_bytes(std::span(seed->second)), type,
                      spec_.workload.tolerance.at(type), scale);
}

Result<std::optional<Outcome>> Trial::check_untouched(int rank, int set) {
  const auto guard_broken = [&](std::uint64_t address) -> Result<bool> {
    CUCO_TRY_ASSIGN(const std::string bytes, cluster_.read(address, kGuardBytes));
    return bytes != guard_;
  };
  const auto finding = [&](std::string message) {
    candidate::Finding item{.kind = "out of bounds", .message = std::move(message)};
    item.where.rank = rank;
    return std::optional<Outcome>(candidate::Findings{{std::move(item)}, schedule_});
  };
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    const std::uint64_t address = input_at(rank, set, i);
    CUCO_TRY_ASSIGN(const std::string bytes, cluster_.read(address, inputs_[i].bytes()));
    if (bytes != pristine_[{rank, i}])
      return finding(fmt::format("input {} was written to", inputs_[i].name));
    CUCO_TRY_ASSIGN(const bool broken, guard_broken(address + bytes.size()));
    if (broken)
      return finding(fmt::format("bytes after input {} were written to", inputs_[i].name));
  }
  for (std::size_t i = 0; i < outputs_.size(); ++i) {
    CUCO_TRY_ASSIGN(const bool broken, guard_broken(output_at(rank, set, i) + outputs_[i].bytes()));
    if (broken)
      return finding(fmt::format("bytes after output {} were written to", outputs_[i].name));
  }
  return std::optional<Outcome>();
}

// The host's time is not on the virtual clock: what is done there must be next to nothing.
Outcome Trial::host_finding(int rank, std::string kind, std::string message) const {
  candidate::Finding item{.kind = std::move(kind), .message = std::move(message)};
  item.where.rank = rank;
  item.hint = "compute and communicate on the device";
  return candidate::Findings{{std::move(item)}, schedule_};
}

Outcome Trial::too_busy(std::chrono::nanoseconds cpu) const {
  return host_finding(
      -1, "host computation",
      fmt::format(
          "cuco_run used {:.2f} s of host CPU time on all ranks, at most {:.2f} s may be used",
          std::chrono::duration<double>(cpu).count(), spec_.workload.budget.host_seconds));
}

std::optional<Outcome> Trial::check_copies(const AllReported& all) const {
  const std::int64_t most = spec_.workload.budget.host_bytes;
  for (const RankState& rank : all.ranks) {
    if (rank.copied_to_host <= static_cast<std::uint64_t>(most)) continue;
    return host_finding(
        rank.rank, "device-to-host copy",
        fmt::format("{} bytes were copied to the host inside cuco_run, at most {} may be",
                    rank.copied_to_host, most));
  }
  return std::nullopt;
}

Result<std::optional<Outcome>> Trial::check(int iteration, int set) {
  if (spec_.reference != nullptr) {
    CUCO_TRY_ASSIGN(answers_, spec_.reference->answers(pristine_));
  }
  for (int rank = 0; rank < spec_.workload.ranks; ++rank) {
    for (std::size_t output = 0; output < outputs_.size(); ++output) {
      CUCO_TRY_ASSIGN(auto outcome, check_output(iteration, rank, output));
      if (outcome) return outcome;
    }
    CUCO_TRY_ASSIGN(auto outcome, check_untouched(rank, set));
    if (outcome) return outcome;
  }
  return std::optional<Outcome>();
}

/// Where every delivery was late and nobody got slower, nobody waited.
std::optional<Outcome> Trial::judge_probe(const AllReported& all, double seconds) const {
  const double delay = static_cast<double>(kProbePs) * 1e-12;
  const double grown = seconds - times_.seconds.front();
  if (all.ranks.front().deliveries == 0 || grown >= delay / 2) return std::nullopt;
  candidate::Finding item{
      .kind = "wait did not wait",
      .message = fmt::format("every delivery between GPUs was {:.0f} us late, and "
                             "the run took only {:.1f} us longer",
                             delay * 1e6, grown * 1e6),
      .where = {},
      .other = std::nullopt,
      .hint =
          "wait for what this iteration sends, not for what an earlier one "
          "has left"};
  return candidate::Findings{{std::move(item)}, schedule_};
}

Result<std::optional<Outcome>> Trial::iterate(int iteration, int set) {
  const Budget& budget = spec_.workload.budget;
  {
    const Stages::Lap lap(spec_.stages, "inputs");
    CUCO_TRY(place_inputs(iteration, set));
  }
  const auto cpu_before = ranks_.cpu_time();
  const std::chrono::nanoseconds cpu_limit(static_cast<std::int64_t>(budget.host_seconds * 1e9));
  std::optional<Stages::Lap> lap(std::in_place, spec_.stages, "run");
  CUCO_TRY_ASSIGN(const std::int64_t begin, cluster_.run_all(set, choose_late(iteration)));
  CUCO_TRY_ASSIGN(Step step, wait_for("cuco_run", budget.run_seconds, cpu_limit));
  if (auto* outcome = std::get_if<Outcome>(&step)) return std::optional(std::move(*outcome));
  lap.emplace(spec_.stages, "check");
  const AllReported& all = std::get<AllReported>(step);
  if (auto outcome = check_copies(all)) return outcome;
  if (const auto used = ranks_.cpu_time() - cpu_before; used > cpu_limit)
    return std::optional(too_busy(used));
  std::int64_t end = begin;
  for (const RankState& rank : all.ranks)
    end = std::max(end, rank.time_ps);
  CUCO_TRY_ASSIGN(auto outcome, check(iteration, set));
  const double seconds = static_cast<double>(end - begin) * 1e-12;
  if (!outcome && iteration == budget.iterations) return judge_probe(all, seconds);
  times_.seconds.push_back(seconds);
  return outcome;
}

Result<std::variant<double, Outcome>> Trial::time_one(int iteration) {
  using Timed = std::variant<double, Outcome>;
  // Of both programs of a pair the same, and not known before.
  const auto sets = static_cast<std::uint64_t>(spec_.workload.budget.sets);
  const int set = static_cast<int>(key("order", iteration) % sets);
  CUCO_TRY_ASSIGN(auto outcome, iterate(iteration, set));
  if (outcome) return Timed(*std::move(outcome));
  return Timed(times_.seconds.back());
}

Result<TrialResult> Trial::run() {
  {
    const Stages::Lap lap(spec_.stages, "start");
    CUCO_TRY_ASSIGN(auto trouble, prepare());
    if (trouble) return TrialResult(*std::move(trouble));
  }
  const Budget& budget = spec_.workload.budget;
  Rng order(key("order", 0));
  const bool probed = probes() && spec_.cluster.schedule_seed == 0;
  for (int iteration = 0; iteration < budget.iterations + (probed ? 1 : 0); ++iteration) {
    const int set = static_cast<int>(order.below(static_cast<std::uint64_t>(budget.sets)));
    CUCO_TRY_ASSIGN(auto outcome, iterate(iteration, set));
    if (outcome) return TrialResult(*std::move(outcome));
  }
  // In order, so that a candidate's teardown is exercised; what it does there no longer matters.
  const Stages::Lap lap(spec_.stages, "end");
  CUCO_TRY(cluster_.command(JudgeReport::kFinish, 0));
  CUCO_TRY(ranks_.wait(in_ms(budget.setup_seconds)));
  return TrialResult(std::move(times_));
}

}  // namespace

Result<system::Process> start_ranks(const TrialSpec& spec, const VirtualCluster& cluster) {
  CUCO_TRY_ASSIGN(const system::Path program, system::find_helper("cuco-rank"));
  const system::Path libraries = program.parent_path().parent_path() / "lib" / "cuco";
  const auto ranks = static_cast<std::uint32_t>(spec.workload.ranks);
  const Budget& budget = spec.workload.budget;
  system::JobSpec job;
  job.command.argv = {program.string(), spec.candidate.string(), std::to_string(ranks),
                      cluster.is_real() ? "-" : libraries.string()};
  job.command.environment = system::Environment::bare();
  job.command.environment.set("LD_LIBRARY_PATH", libraries.string())
      .set(wire::kSocketVariable, cluster.socket().string());
  if (cluster.is_real()) {
    job.command.environment.set("LD_LIBRARY_PATH", "/usr/local/cuda/lib64");
    job.command.fds = cluster.rank_fds();
  }
  job.limits.wall = in_ms(2 * budget.setup_seconds + (budget.iterations + 1) * budget.run_seconds);
  job.limits.memory = (std::uint64_t{1} << 30U) + ranks * (std::uint64_t{512} << 20U);
  job.limits.processes = 16 + 16 * ranks;
  job.limits.file_size = std::uint64_t{1} << 30U;  // bounce buffers are files to the kernel
  job.limits.output = std::size_t{64} << 10U;
  job.limits.output_ends_job = true;
  job.sandbox = system::SandboxSpec{.tier = spec.tier,
                                    .read_only = {program.parent_path(), libraries, spec.candidate,
                                                  cluster.socket().parent_path()}};
  if (cluster.is_real()) job.sandbox->devices = VirtualCluster::gpu_devices();
  return system::Process::start(job);
}

Result<TrialResult> run_trial(const TrialSpec& spec, Oracle& oracle) {
  std::optional<Stages::Lap> lap(std::in_place, spec.stages, "start");
  CUCO_TRY_ASSIGN(VirtualCluster cluster, VirtualCluster::start(spec.cluster));
  CUCO_TRY_ASSIGN(system::Process ranks, start_ranks(spec, cluster));
  lap.reset();
  return Trial(spec, oracle, std::move(cluster), std::move(ranks)).run();
}

Result<PairResult> run_pairs(const TrialSpec& incumbent,
                             const TrialSpec& candidate,
                             const system::Path& oracle,
                             const measure::PairedTest::Rules& rules) {
  CUCO_TRY_ASSIGN(Oracle first_oracle, Oracle::start(oracle));
  CUCO_TRY_ASSIGN(Oracle second_oracle, Oracle::start(oracle));
  CUCO_TRY_ASSIGN(VirtualCluster first_cluster, VirtualCluster::start(incumbent.cluster));
  CUCO_TRY_ASSIGN(VirtualCluster second_cluster, VirtualCluster::start(candidate.cluster));
  CUCO_TRY_ASSIGN(system::Process first_ranks, start_ranks(incumbent, first_cluster));
  CUCO_TRY_ASSIGN(system::Process second_ranks, start_ranks(candidate, second_cluster));
  Trial first(incumbent, first_oracle, std::move(first_cluster), std::move(first_ranks));
  Trial second(candidate, second_oracle, std::move(second_cluster), std::move(second_ranks));
  const auto failed = [](const Outcome& outcome) {
    return Error{ErrorKind::InvalidInput, "the incumbent fails: " + candidate::summary(outcome)};
  };
  CUCO_TRY_ASSIGN(const auto first_trouble, first.begin());
  if (first_trouble) return failed(*first_trouble);
  CUCO_TRY_ASSIGN(auto second_trouble, second.begin());
  if (second_trouble) return PairResult(*std::move(second_trouble));
  measure::PairedTest test(rules);
  // The first pair warms up: code is compiled and loaded in it.
  for (int i = 0; test.decision() == measure::Decision::Continue; ++i) {
    std::array<double, 2> seconds{};
    for (int turn = 0; turn < 2; ++turn) {
      const bool is_candidate = (turn == 1) != (i % 2 == 1);  // who goes first alternates
      CUCO_TRY_ASSIGN(auto timed, (is_candidate ? second : first).time_one(i));
      if (auto* outcome = std::get_if<Outcome>(&timed)) {
        if (!is_candidate) return failed(*outcome);
        return PairResult(std::move(*outcome));
      }
      seconds[is_candidate ? 1 : 0] = std::get<double>(timed);
    }
    if (i > 0) test.add(seconds[0], seconds[1]);
  }
  return PairResult(
      PairTimes{first.times(), second.times(), test.decision(), test.speedup_interval()});
}

}  // namespace cuco::evaluation
