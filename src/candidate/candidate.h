// SPDX-License-Identifier: Apache-2.0
/// \file
/// A candidate: code, the directive it claims, and where it came from.
#pragma once

#include <compare>
#include <optional>
#include <string>
#include <vector>

#include "candidate/outcome.h"
#include "design/directive.h"
#include "program/source.h"

namespace cuco::candidate {

/// Numbered from 0 (the seed) within a run, in the order of proposal.
using Number = int;
inline constexpr Number kSeed = 0;

/// What was expected of a candidate before it was built.
struct Forecast {
  double speedup = 1;    ///< Over the seed: as likely more as less.
  double low = 0;        ///< Nineteen times of twenty it is above this,
  double high = 0;       ///< and as often below this.
  double works = 1;      ///< Chance that it is correct.
  bool judged = true;    ///< False: nobody looked, it was hopeless.
  bool audited = false;  ///< It was hopeless, and is judged all the same.
  bool operator==(const Forecast&) const = default;
};

struct Lineage {
  std::string proposer;  ///< "seed", "expert", "model:NAME", "command:NAME".
  std::string island;    ///< Group that it competes in first.
  std::string phase;     ///< "fast path", "enumerate", "explore", "exploit".
  std::optional<Number> parent;
  std::vector<Number> inspirations;
  std::string because;                     ///< One or two sentences: why this was worth trying.
  std::string operation = {};              ///< What was done with the parent: name(Operation).
  std::optional<int> plan = std::nullopt;  ///< The plan that it implements.
  std::optional<Forecast> forecast = std::nullopt;
  bool operator==(const Lineage&) const = default;
};

/// What a compiler has made of a candidate: hashes of the device's half and the host's. Whatever
/// their texts look like, candidates with the same of both do the same.
struct MachineCode {
  std::string device;
  std::string host;
  auto operator<=>(const MachineCode&) const = default;
};

struct Candidate {
  Number number = kSeed;
  program::Source source;
  design::Directive directive;
  Lineage lineage;
  std::string code_hash;  ///< Of the normalised code: comments and layout do not count.
  bool operator==(const Candidate&) const = default;
};

}  // namespace cuco::candidate
