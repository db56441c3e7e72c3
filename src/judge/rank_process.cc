// SPDX-License-Identifier: Apache-2.0
#include "judge/rank_process.h"

#include "shims/wire/call_site.h"

namespace cuco::judge {
namespace {

std::chrono::milliseconds in_ms(double seconds) {
  return std::chrono::milliseconds(static_cast<std::int64_t>(seconds * 1000));
}

}  // namespace

Result<system::Process> start_ranks(const TrialSpec& spec, const targets::VirtualCluster& cluster) {
  CUCO_TRY_ASSIGN(const system::Path program, system::find_helper("cuco-rank"));
  const system::Path libraries = program.parent_path().parent_path() / "lib" / "cuco";
  const auto ranks = static_cast<std::uint32_t>(spec.workload.ranks);
  const workload::Budget& budget = spec.workload.budget;
  system::JobSpec job;
  job.command.argv = {program.string(), spec.candidate.string(), std::to_string(ranks),
                      cluster.is_real() ? "-" : libraries.string()};
  job.command.environment = system::Environment::bare();
  job.command.environment.set("LD_LIBRARY_PATH", libraries.string())
      .set(wire::kSocketVariable, cluster.socket().string());
  if (cluster.is_checked()) job.command.environment.set(wire::kCheckVariable, "1");
  if (cluster.is_real()) {
    job.command.environment.set("LD_LIBRARY_PATH", "/usr/local/cuda/lib64");
    job.command.fds = cluster.rank_fds();
  }
  // A backstop: each step has its own limit. How many pairs a real GPU needs is not known before.
  job.limits.wall =
      cluster.is_real()
          ? std::chrono::hours(1)
          : in_ms(2 * budget.setup_seconds + (budget.iterations + 1) * budget.run_seconds);
  job.limits.memory = (std::uint64_t{1} << 30U) + ranks * (std::uint64_t{512} << 20U);
  job.limits.processes = 16 + 16 * ranks;
  job.limits.file_size = std::uint64_t{1} << 30U;  // bounce buffers are files to the kernel
  job.limits.output = std::size_t{64} << 10U;
  job.limits.output_ends_job = true;
  job.sandbox = system::SandboxSpec{.tier = spec.tier,
                                    .read_only = {program.parent_path(), libraries, spec.candidate,
                                                  cluster.socket().parent_path()}};
  if (cluster.is_real()) job.sandbox->devices = targets::VirtualCluster::gpu_devices();
  return system::Process::start(job);
}

}  // namespace cuco::judge
