// SPDX-License-Identifier: Apache-2.0
/// \file
/// Candidates whose texts differ and whose machine code is the same, on both halves: the time of
/// one is the other's, too. Within a run, where workload, target and secret are the same; at one
/// rung, for each asks more than the one below; and never at `final`, which every program has to
/// pass by itself.
#pragma once

#include <map>
#include <utility>

#include "candidate/candidate.h"
#include "candidate/rung.h"

namespace cuco::candidate {

class Twins {
 public:
  /// Who was the first with this code at that rung; this one, if none was.
  Number first(Number number, Rung rung, const MachineCode& code);
  /// The first has no verdict and never will: the next one with this code is the first.
  void forget(Number number, Rung rung, const MachineCode& code);

 private:
  std::map<std::pair<Rung, MachineCode>, Number> first_;
};

/// Somebody's time as a twin's: places in the code are where the twin has the same line, and not
/// known where it has none.
[[nodiscard]] Scored for_twin(Scored scored, const Candidate& of, const Candidate& twin);

}  // namespace cuco::candidate
