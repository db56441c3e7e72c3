// SPDX-License-Identifier: Apache-2.0
/// \file
/// What a trial has beside the candidate: an oracle and a target. Abstract factories, so that
/// trials, pairs and the cascade are tested without compilers, processes and GPUs.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "base/result.h"
#include "judge/oracle/oracle.h"
#include "judge/trial/trial_spec.h"
#include "targets/target.h"

namespace cuco::judge {

/// For one trial, and ended with it. It can be started before the candidate is built.
struct Bench {
  std::unique_ptr<Oracle> oracle;
  std::unique_ptr<targets::Target> target;
};

class BenchMaker {
 public:
  virtual ~BenchMaker() = default;
  [[nodiscard]] virtual Result<std::unique_ptr<Oracle>> start_oracle() = 0;
  /// `machine`: what virtual GPUs imitate; a real one is what it is.
  [[nodiscard]] virtual Result<std::unique_ptr<targets::Target>> start_target(
      const targets::VirtualSpec& machine) = 0;
  /// The candidate's processes, to be commanded through `target`.
  [[nodiscard]] virtual Result<std::unique_ptr<targets::Ranks>> start_ranks(
      const TrialSpec& spec, const targets::Target& target) = 0;
};

[[nodiscard]] Result<Bench> start_bench(BenchMaker& maker, const targets::VirtualSpec& machine);

/// Processes of this machine. `oracle`: the workload's, built. `on_gpu`: this machine's GPU instead
/// of virtual ones.
[[nodiscard]] std::unique_ptr<BenchMaker> make_benches(system::Path oracle, bool on_gpu);

/// Benches that wait for the compiler to be done, instead of being waited for. May be used from
/// several threads.
class BenchPool {
 public:
  BenchPool(BenchMaker& maker, targets::VirtualSpec machine)
      : maker_(maker), machine_(std::move(machine)) {}

  /// Starts what is missing of so many.
  [[nodiscard]] Result<void> fill(std::size_t count);
  /// One that is ready, or a new one.
  [[nodiscard]] Result<Bench> take();

 private:
  BenchMaker& maker_;
  targets::VirtualSpec machine_;
  std::mutex mutex_;
  std::vector<Bench> ready_;
};

}  // namespace cuco::judge
