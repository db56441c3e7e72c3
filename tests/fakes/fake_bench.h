// SPDX-License-Identifier: Apache-2.0
/// \file
/// Compiler, oracle, target and ranks of a judge, without any process. What a program "does" is a
/// function of the test's: it is asked at every run of a rank's work, and answers with an Act.
#pragma once

#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "judge/builder.h"
#include "judge/trial/bench.h"
#include "rank/rank_job.h"
#include "shims/wire/messages_judge.h"

namespace cuco::fakes {

/// One run of cuco_run on all ranks.
struct FakeRun {
  std::string object;  ///< Whose.
  std::string shape;
  int number = 0;  ///< Of this trial, from 0.
  targets::VirtualSpec machine;
  targets::Handicap handicap;
};

/// What becomes of it.
struct Act {
  enum class Kind { Right, Wrong, Deadlock, OutOfTime, OutOfVirtualTime, Crash, HostBusy, Fails };
  Kind kind = Kind::Right;
  double seconds = 1e-3;
  double in_batch = 1e-6;        ///< Seconds of one of several iterations.
  std::uint64_t deliveries = 0;  ///< Between GPUs.
  std::uint64_t copied_to_host = 0;
  double blocks_per_sm = 0;  ///< Of its longest kernel.
  measure::Sample seen;      ///< On a real GPU.
  std::vector<check::Finding> findings;
  std::vector<check::Finding> findings_at_end;  ///< Of the teardown, if it was the last run.
  double host_seconds = 0;                      ///< Of processor time, on its first rank.
  bool breaks_guard = false;                    ///< Writes beyond the end of its first output.
};
using Script = std::function<Act(const FakeRun&)>;

/// Every byte of an input is the same; every byte of a right output is the first input's.
class FakeOracle final : public judge::Oracle {
 public:
  Result<std::string> input(const workload::Workload& /*workload*/,
                            const workload::Shape& /*shape*/,
                            std::uint64_t key,
                            int /*rank*/,
                            int /*input*/,
                            std::size_t bytes) override {
    expected_ = static_cast<char>(key % 100 + 1);
    return std::string(bytes, expected_);
  }
  Result<judge::Comparison> check(const workload::Workload& /*workload*/,
                                  const workload::Shape& /*shape*/,
                                  const Question& /*question*/,
                                  std::string_view output) override {
    judge::Comparison result{.checked = static_cast<std::int64_t>(output.size())};
    const std::size_t at = output.find_first_not_of(expected_);
    if (at != std::string_view::npos) {
      result.wrong = 1;
      result.index = 0;
    }
    return result;
  }
  Result<std::string> answer(const workload::Workload& /*workload*/,
                             const workload::Shape& /*shape*/,
                             int /*rank*/,
                             int /*output*/,
                             const workload::Buffer& buffer,
                             bool /*coarse*/) override {
    return std::string(buffer.bytes(), expected_);
  }

 private:
  char expected_ = 0;
};

class FakeRanks final : public targets::Ranks {
 public:
  FakeRanks(bool ends, const targets::Target& target);

  void kill() override { killed_ = true; }
  Result<std::optional<system::JobOutcome>> wait(
      std::optional<std::chrono::milliseconds> /*timeout*/) override {
    if (!ends_ && !killed_) return std::optional<system::JobOutcome>();
    system::JobOutcome outcome;
    outcome.ending = killed_ ? system::Ending::Cancelled : system::Ending::Exited;
    return std::optional(outcome);
  }
  [[nodiscard]] std::vector<std::chrono::nanoseconds> cpu_times() const override;
  [[nodiscard]] int fd() const override { return -1; }

 private:
  bool ends_;
  bool killed_ = false;
  const targets::Target& target_;
};

class FakeTarget final : public targets::Target {
 public:
  FakeTarget(const Script& script, const targets::VirtualSpec& machine, bool measured)
      : script_(script), measured_(measured) {
    run_.machine = machine;
  }

  /// The candidate that is started on it; const, as the maker gets it.
  void load(const std::string& object, const std::string& shape) const {
    run_.object = object;
    run_.shape = shape;
  }

  [[nodiscard]] Result<targets::RankAccess> rank_access() const override {
    return targets::RankAccess{};
  }
  [[nodiscard]] bool is_measured() const override { return measured_; }

  Result<targets::TargetEvent> wait(const targets::Ranks& /*ranks*/,
                                    const targets::Patience& /*patience*/) override {
    switch (act_.kind) {
      case Act::Kind::Deadlock:
        return targets::TargetEvent(targets::Deadlocked{{"rank 0 waits for rank 1"}});
      case Act::Kind::OutOfTime:
        return targets::TargetEvent(targets::OutOfTime{});
      case Act::Kind::OutOfVirtualTime:
        return targets::TargetEvent(targets::OutOfTime{7200});
      case Act::Kind::Crash:
        return targets::TargetEvent(
            targets::RanksDied{{"rank 0: illegal address in kernel "
                                "_ZN43_GLOBAL__N__7f344d90_10_program_cu_5e13d1c44gemmEPf at "
                                "/tmp/cuco-build.x1/program.cu:3"}});
      case Act::Kind::HostBusy:
        return targets::TargetEvent(targets::HostBusy{std::chrono::seconds(3)});
      default:
        break;
    }
    targets::AllReported all;
    for (int rank = 0; rank < run_.machine.ranks; ++rank) {
      targets::RankState state{.rank = rank, .tail = tail_};
      state.code = act_.kind == Act::Kind::Fails ? 7 : 0;
      state.time_ps = end_ps_;
      state.deliveries = act_.deliveries;
      state.kernel_ps = rank == 0 ? 1000 : 1;
      state.blocks_per_sm = rank == 0 ? act_.blocks_per_sm : 0;
      state.waves = state.blocks_per_sm / 2;
      state.copied_to_host = act_.copied_to_host;
      state.seen = act_.seen;
      if (!addresses_.empty() && tail_.empty() && allocating_)
        state.tail = addresses_[rank_at(rank)];
      all.ranks.push_back(std::move(state));
    }
    return targets::TargetEvent(std::move(all));
  }

  Result<std::int64_t> command(std::uint32_t command,
                               std::int32_t /*argument*/,
                               wire::Bytes tail,
                               std::int32_t /*rank*/) override {
    tail_.clear();
    allocating_ = false;
    if (command == wire::JudgeReport::kMakeId) tail_.assign(rank::kUniqueIdBytes, '\0');
    if (command == wire::JudgeReport::kAllocate) allocate(tail);
    if (command == wire::JudgeReport::kFinish) act_.findings = act_.findings_at_end;
    return now_ps_;
  }

  Result<std::int64_t> run_all(int set, const targets::Handicap& handicap) override {
    tail_.clear();
    allocating_ = false;
    run_.handicap = handicap;
    act_ = script_(run_);
    ++run_.number;
    const std::int64_t begin = now_ps_;
    end_ps_ = begin + static_cast<std::int64_t>(act_.seconds * 1e12);
    host_seconds += act_.host_seconds;
    now_ps_ = end_ps_;
    for (int rank = 0; rank < run_.machine.ranks; ++rank)
      compute(rank, set);
    return begin;
  }

  /// Each iteration acts as the script says; a launch and its end cost 20 us, once.
  Result<std::int64_t> run_batch(const std::vector<int>& sets) override {
    const std::int64_t begin = now_ps_;
    std::int64_t most = 0;
    for (const int set : sets) {
      CUCO_TRY(run_all(set, {}));
      most += static_cast<std::int64_t>(act_.in_batch * 1e12);
      if (act_.kind != Act::Kind::Right) break;
    }
    end_ps_ = now_ps_ = begin + most + 20'000'000;
    batches.push_back(sets.size());
    return begin;
  }
  std::vector<std::size_t> batches = {};

  Result<void> order_snapshot(int rank,
                              const std::vector<targets::MemoryRange>& ranges,
                              const std::vector<targets::MemoryRange>& /*given*/,
                              const std::vector<targets::MemoryRange>& /*closed*/) override {
    snapshots_[rank] = ranges;
    return {};
  }
  Result<std::string> read_snapshot(int rank, std::size_t index, std::size_t bytes) override {
    return read(snapshots_[rank][index].address, bytes);
  }
  Result<void> write(std::uint64_t address, std::string_view bytes) override {
    std::memcpy(memory_.data() + address, bytes.data(), bytes.size());
    return {};
  }
  Result<std::string> read(std::uint64_t address, std::size_t bytes) override {
    return memory_.substr(address, bytes);
  }
  Result<std::string> profile() override { return std::string("{}"); }
  Result<void> forget_profile() override { return {}; }
  double host_seconds = 0;  ///< So far.

  Result<std::vector<check::Finding>> findings() override {
    return run_.machine.check ? act_.findings : std::vector<check::Finding>();
  }

 private:
  static std::size_t rank_at(int rank) { return static_cast<std::size_t>(rank); }

  void allocate(wire::Bytes tail) {
    job_ = *rank::decode_rank_job(tail);
    layout_ = rank::lay_out(job_);
    memory_.assign(layout_.bytes * rank_at(run_.machine.ranks), '\0');
    addresses_.clear();
    for (int rank = 0; rank < run_.machine.ranks; ++rank) {
      std::vector<std::byte> list;
      for (const std::size_t offset : layout_.offsets)
        wire::append(list, static_cast<std::uint64_t>(layout_.bytes * rank_at(rank) + offset));
      addresses_.emplace_back(wire::text_of(list));
    }
    allocating_ = true;
  }

  void compute(int rank, int set) {
    if (act_.kind == Act::Kind::Wrong) return;
    const std::size_t base = layout_.bytes * rank_at(rank);
    const std::size_t inputs = job_.input_bytes.size();
    const std::size_t first_output = rank_at(job_.sets) * inputs + rank_at(set) * outputs();
    const char value = memory_[base + layout_.offsets[rank_at(set) * inputs]];
    for (std::size_t i = 0; i < outputs(); ++i) {
      const std::size_t at = base + layout_.offsets[first_output + i];
      memory_.replace(at, job_.output_bytes[i], job_.output_bytes[i], value);
      if (act_.breaks_guard && i == 0) memory_[at + job_.output_bytes[i]] = '!';
    }
  }
  [[nodiscard]] std::size_t outputs() const { return job_.output_bytes.size(); }

  Script script_;
  bool measured_;
  mutable FakeRun run_;
  Act act_;
  std::int64_t now_ps_ = 0;
  std::int64_t end_ps_ = 0;
  rank::RankJob job_;
  rank::RankLayout layout_;
  std::string memory_;
  std::string tail_;
  bool allocating_ = false;
  std::vector<std::string> addresses_;
  std::map<int, std::vector<targets::MemoryRange>> snapshots_;
};

inline FakeRanks::FakeRanks(bool ends, const targets::Target& target)
    : ends_(ends), target_(target) {}

inline std::vector<std::chrono::nanoseconds> FakeRanks::cpu_times() const {
  const double seconds = static_cast<const FakeTarget&>(target_).host_seconds;
  return {std::chrono::nanoseconds(static_cast<std::int64_t>(seconds * 1e9))};
}

class FakeBenches final : public judge::BenchMaker {
 public:
  explicit FakeBenches(Script script, bool measured = false)
      : script_(std::move(script)), measured_(measured) {}

  Result<std::unique_ptr<judge::Oracle>> start_oracle() override {
    return std::unique_ptr<judge::Oracle>(std::make_unique<FakeOracle>());
  }
  Result<std::unique_ptr<targets::Target>> start_target(
      const targets::VirtualSpec& machine) override {
    return std::unique_ptr<targets::Target>(
        std::make_unique<FakeTarget>(script_, machine, measured_));
  }
  Result<std::unique_ptr<targets::Ranks>> start_ranks(const judge::TrialSpec& spec,
                                                      const targets::Target& target) override {
    const std::lock_guard lock(mutex_);
    static_cast<const FakeTarget&>(target).load(spec.candidate.string(), spec.shape.name);
    trials.push_back(spec.candidate.string() + " " + spec.shape.name);
    return std::unique_ptr<targets::Ranks>(std::make_unique<FakeRanks>(ranks_end, target));
  }

  std::vector<std::string> trials;  ///< "object shape", in the order in which they were started.
  bool ranks_end = true;            ///< When they are told to finish.

 private:
  Script script_;
  bool measured_;
  std::mutex mutex_;
};

/// Objects are named by what the source says: "object NAME"; "broken" does not compile, "slow"
/// takes too long, "constructor" runs code when it is loaded.
class FakeBuilder final : public judge::Builder {
 public:
  Result<toolchain::BuildResult> build(std::string_view source, bool /*device_only*/) override {
    const auto has = [&](std::string_view word) {
      return source.find(word) != std::string_view::npos;
    };
    if (has("broken")) return toolchain::BuildResult(toolchain::CompileError{"expected a ';'"});
    if (has("slow")) return toolchain::BuildResult(toolchain::CompileTimeout{300});
    return toolchain::BuildResult(system::Path(has("constructor") ? "constructor"
                                               : has("candidate") ? "candidate"
                                                                  : "seed"));
  }
  Result<toolchain::ElfFacts> inspect(const system::Path& object) override {
    toolchain::ElfFacts facts;
    facts.defined = {"cuco_setup", "cuco_run", "cuco_teardown"};
    if (object == "constructor") facts.init_entries = 9;
    return facts;
  }
};

}  // namespace cuco::fakes
