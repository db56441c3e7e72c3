// SPDX-License-Identifier: Apache-2.0
/// \file
/// What runs teach each other: where it is kept, and what a run takes from it.
#pragma once

#include <functional>
#include <string>

#include "analysis/communication_graph.h"
#include "base/clock.h"
#include "candidate/evaluator.h"
#include "cli/config/config.h"
#include "knowledge/knowledge.h"
#include "store/run_folder.h"

namespace cuco::cli {

/// Beside the runs: of a configuration, or of one of them.
[[nodiscard]] system::Path knowledge_file(const Config& config);
[[nodiscard]] system::Path knowledge_file(const store::RunFolder& folder);

/// No file is empty knowledge.
[[nodiscard]] Result<knowledge::Knowledge> load_knowledge(const system::Path& file);

/// Changes what the file holds, while nobody else does: runs end side by side. What `change` fails
/// with is passed on, and nothing is written then.
using ChangeKnowledge = std::function<Result<void>(knowledge::Knowledge&)>;
[[nodiscard]] Result<void> change_knowledge(const system::Path& file,
                                            Clock& clock,
                                            const ChangeKnowledge& change);

/// What programs have in common that moves may depend on: "2 x ncclAllReduce · 8 ranks, 4 of them
/// within reach".
[[nodiscard]] std::string situation_of(const analysis::CommunicationGraph& graph,
                                       const candidate::Target& target);

/// What the run was started with: it keeps a copy, so that resuming it decides as before.
[[nodiscard]] Result<knowledge::Knowledge> knowledge_of(const store::RunFolder& folder,
                                                        const system::Path& file);

/// Adds the run to the file.
[[nodiscard]] Result<void> learn_run(const system::Path& file,
                                     Clock& clock,
                                     const std::string& situation,
                                     const candidate::RunState& state,
                                     const store::RunFolder& folder);

}  // namespace cuco::cli
