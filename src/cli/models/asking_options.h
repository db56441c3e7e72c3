// SPDX-License-Identifier: Apache-2.0
/// \file
/// The options with which commands say who is asked.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "cli/journey/journey.h"
#include "cli/terminal/command.h"

namespace cuco::cli {

/// --proposer, --model, --endpoint, --record and --replay.
struct AskingOptions {
  std::vector<std::string> proposers;
  std::optional<std::string> model;
  std::string endpoint;
  std::filesystem::path record;
  std::filesystem::path replay;

  void declare(Arguments& arguments);
  /// Into the journey's options; what is not given comes from the configuration.
  void apply(const Config& config, JourneyOptions* options) const;
};

}  // namespace cuco::cli
