// SPDX-License-Identifier: Apache-2.0
/// \file
/// Recorded runs that nobody made: designs whose dimensions help or hurt, some of which do not
/// work. For tests and benchmarks of policies.
#pragma once

#include "base/rng.h"
#include "candidate/run_state.h"

namespace cuco::fakes {

struct SyntheticRun {
  std::uint64_t kind = 1;     ///< Draws another one.
  double together = 0.02;     ///< How much a design differs from the product of what its parts do.
  double failing = 0.2;       ///< Share of designs that do not work.
  double full_differs = 0;    ///< How much full shapes differ from small ones, design by design;
  double regions_differ = 0;  ///< and backend by backend.
  bool listed = false;        ///< Its proposer enumerates them, and nobody else is there.
};

/// 4 backends x 5 placements x 6 numbers of issuers, in no order.
inline candidate::RunState synthetic_run(const SyntheticRun& made) {
  using candidate::Outcome;
  using candidate::Scored;
  candidate::RunState run;
  run.started = candidate::RunStarted{.hardware = "4 x H200"};
  Rng rng(made.kind);
  double help[4][6];
  for (auto& dimension : help) {
    for (double& value : dimension)
      value = 0.7 + 0.6 * rng.uniform();
  }
  Rng other(made.kind ^ 0x5bd1e995U);
  double full_help[4];
  for (double& value : full_help)
    value = 1 + made.regions_differ * (2 * other.uniform() - 1);
  const auto scored = [](double speedup) {
    return Outcome(Scored{.seconds = 1e-3 / speedup, .baseline_seconds = 1e-3});
  };
  const auto add = [&](const design::Directive& directive, double small, double full, bool works) {
    candidate::Entry entry;
    entry.candidate.number = static_cast<int>(run.entries.size());
    entry.candidate.code_hash = std::to_string(run.entries.size());
    entry.candidate.source = program::single_file("program.cu", entry.candidate.code_hash);
    entry.candidate.directive = directive;
    entry.candidate.lineage = {.proposer = made.listed ? "expert" : "model:m",
                               .phase = made.listed ? "enumerate" : "explore"};
    entry.outcomes.emplace(candidate::Rung{},
                           works ? scored(small) : Outcome(candidate::WrongResult{}));
    if (works && made.full_differs + made.regions_differ > 0) {
      entry.outcomes.emplace(candidate::Rung{.fidelity = candidate::Fidelity::Scaled},
                             scored(full));
    }
    run.entries.push_back(std::move(entry));
  };
  add({}, 1, 1, true);
  for (int backend = 0; backend < 4; ++backend) {
    for (int placement = 0; placement < 5; ++placement) {
      for (int count = 0; count < 6; ++count) {
        design::Directive directive{static_cast<design::Backend>(backend),
                                    static_cast<design::Placement>(placement),
                                    design::SyncScope::PerPeerSignal};
        directive.issuer.count = 1 << count;
        const auto noise = [&](double width) { return 1 + width * (2 * rng.uniform() - 1); };
        const double small =
            help[0][backend] * help[1][placement] * help[2][count] * noise(made.together);
        const double full = small * noise(made.full_differs) * full_help[backend];
        add(directive, small, full, rng.uniform() > made.failing);
      }
    }
  }
  return run;
}

}  // namespace cuco::fakes
