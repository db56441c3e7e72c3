// SPDX-License-Identifier: Apache-2.0
/// \file
/// Runs whose exchanges with models are recorded, or answered from a recording.
#pragma once

#include <memory>
#include <string>

#include "cli/models/model_providers.h"

namespace cuco::cli {

/// Files; at most one of them.
struct RecordingFiles {
  std::string record;
  std::string replay;
};

/// The judge's secret for such a run: a new one, written into the recording, or the recorded one,
/// so that verdicts and prompts are the same on every machine. Empty: the machine's own.
[[nodiscard]] Result<std::string> settle_secret(const RecordingFiles& files);

/// As make_provider(). A replay stands in for whatever was recorded; a recording wraps whatever
/// answers.
[[nodiscard]] Result<std::unique_ptr<llm::Provider>> make_recorded(const std::string& proposer,
                                                                   const ModelOptions& options,
                                                                   const RecordingFiles& files,
                                                                   llm::Gates& gates,
                                                                   Clock& clock);

}  // namespace cuco::cli
