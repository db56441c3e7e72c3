// SPDX-License-Identifier: Apache-2.0
/// \file
/// The options with which commands say who is asked.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
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
  [[nodiscard]] Result<void> apply(const Config& config, JourneyOptions* options) const;

 private:
  [[nodiscard]] bool asks(std::string_view proposer) const;
  /// Options that would say nothing to any of those who are asked.
  [[nodiscard]] Result<void> check(const std::vector<std::string>& asked) const;
};

}  // namespace cuco::cli
