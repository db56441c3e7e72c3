// SPDX-License-Identifier: Apache-2.0
#include "judge/trial/bench.h"

#include "targets/gpu/gpu_target.h"
#include "targets/served_target.h"

namespace cuco::judge {
namespace {

std::chrono::milliseconds in_ms(double seconds) {
  return std::chrono::milliseconds(static_cast<std::int64_t>(seconds * 1000));
}

class ProcessBenches final : public BenchMaker {
 public:
  ProcessBenches(system::Path oracle, bool on_gpu) : oracle_(std::move(oracle)), on_gpu_(on_gpu) {}

  Result<std::unique_ptr<Oracle>> start_oracle() override { return judge::start_oracle(oracle_); }

  Result<std::unique_ptr<targets::Target>> start_target(
      const targets::VirtualSpec& machine) override {
    return on_gpu_ ? targets::start_gpu_target() : targets::start_virtual_target(machine);
  }

  Result<std::unique_ptr<targets::Ranks>> start_ranks(const TrialSpec& spec,
                                                      const targets::Target& target) override {
    CUCO_TRY_ASSIGN(const system::Path program, system::find_helper("cuco-rank"));
    CUCO_TRY_ASSIGN(targets::RankAccess access, target.rank_access());
    const workload::Budget& budget = spec.workload.budget;
    system::JobSpec job;
    job.command.environment = std::move(access.environment);
    job.command.fds = std::move(access.fds);
    // A backstop: each step has its own limit.
    job.limits.wall = access.wall.value_or(
        targets::kMostStarvation *
        in_ms(2 * budget.setup_seconds + (budget.iterations + 1) * budget.run_seconds));
    job.limits.memory = std::uint64_t{3} << 29U;
    job.limits.processes = 32;
    job.limits.file_size = std::uint64_t{1} << 30U;  // bounce buffers are files to the kernel
    job.limits.output = std::size_t{64} << 10U;
    job.limits.output_ends_job = true;
    job.sandbox = system::SandboxSpec{.tier = spec.tier,
                                      .read_only = std::move(access.read_only),
                                      .devices = std::move(access.devices)};
    job.sandbox->read_only.push_back(program.parent_path());
    job.sandbox->read_only.push_back(spec.candidate);
    // Each in a world of its own: no files, memory, names or processes to share.
    std::vector<system::Process> started;
    for (int rank = 0; rank < spec.workload.ranks; ++rank) {
      job.command.argv = {program.string(), spec.candidate.string(), std::to_string(rank),
                          std::to_string(spec.workload.ranks), access.libraries};
      CUCO_TRY_ASSIGN(system::Process process, system::Process::start(job));
      started.push_back(std::move(process));
    }
    return targets::as_ranks(std::move(started));
  }

 private:
  system::Path oracle_;
  bool on_gpu_;
};

}  // namespace

std::unique_ptr<BenchMaker> make_benches(system::Path oracle, bool on_gpu) {
  return std::make_unique<ProcessBenches>(std::move(oracle), on_gpu);
}

Result<Bench> start_bench(BenchMaker& maker, const targets::VirtualSpec& machine) {
  Bench bench;
  CUCO_TRY_ASSIGN(bench.oracle, maker.start_oracle());
  CUCO_TRY_ASSIGN(bench.target, maker.start_target(machine));
  return bench;
}

Result<void> BenchPool::fill(std::size_t count) {
  const std::lock_guard lock(mutex_);
  while (ready_.size() < count) {
    CUCO_TRY_ASSIGN(Bench bench, start_bench(maker_, machine_));
    ready_.push_back(std::move(bench));
  }
  return {};
}

Result<Bench> BenchPool::take() {
  {
    const std::lock_guard lock(mutex_);
    if (!ready_.empty()) {
      Bench bench = std::move(ready_.back());
      ready_.pop_back();
      return bench;
    }
  }
  return start_bench(maker_, machine_);
}

}  // namespace cuco::judge
