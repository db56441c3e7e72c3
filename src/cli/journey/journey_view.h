// SPDX-License-Identifier: Apache-2.0
/// \file
/// How a terminal shows a run while it goes on and when it ends, live or played back.
#pragma once

#include "candidate/run_state.h"
#include "cli/terminal/command.h"
#include "report/progress.h"
#include "store/run_folder.h"

namespace cuco::cli {

/// "label           text" as a remark; nothing with --json.
void show_line(Context& context, const report::Line& line);

/// The event's lines, or the event as JSON. `is_live`: a live view shows the candidates' verdicts,
/// so that only with --verbose they get lines of their own.
void show_event(Context& context,
                const candidate::Event& event,
                const candidate::RunState& state,
                bool is_live);

/// The result, and which commands show more. Done if there is a winner, JobFailed if not.
ExitCode show_closing(Context& context,
                      const candidate::RunState& state,
                      const store::RunFolder& folder);

}  // namespace cuco::cli
