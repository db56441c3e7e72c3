// SPDX-License-Identifier: Apache-2.0
/// \file
/// --on TARGET of the commands that judge.
#pragma once

#include <string>

#include "candidate/rung.h"
#include "cli/terminal/arguments.h"

namespace cuco::cli {

inline void declare_target(Arguments& arguments, std::string& target) {
  arguments.option("--on", target, "TARGET", "where candidates run (default: virtual)")
      .one_of({"virtual", "gpu", "loopback", "cluster"});
}

/// Of a word that was checked above.
[[nodiscard]] inline candidate::TargetKind target_of(const std::string& word) {
  return candidate::parse_target_kind(word).value_or(candidate::TargetKind::Virtual);
}

}  // namespace cuco::cli
