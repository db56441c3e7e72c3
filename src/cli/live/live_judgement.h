// SPDX-License-Identifier: Apache-2.0
/// \file
/// The view of `cuco judge` while it works: how much of the judgement is done, and the time left.
#pragma once

#include <string>
#include <vector>

#include "cli/live/in_flight.h"
#include "cli/terminal/painter.h"

namespace cuco::cli {

struct JudgementView {
  std::string candidate;  ///< Name of its file.
  std::string workload;
  std::string fidelity;
  RunningJob job = {};
};

/// A pure function, like search_rows().
[[nodiscard]] std::vector<Row> judgement_rows(const JudgementView& view, system::TerminalSize size);

/// On the terminal for as long as it lives.
class LiveJudgement {
 public:
  /// `program` is what the judge is going to be given. The table must outlive it.
  LiveJudgement(Terminal& terminal,
                InFlight& table,
                const std::string& program,
                const JudgementView& about);

 private:
  InFlight::Stay stay_;
  Painter painter_;
};

}  // namespace cuco::cli
