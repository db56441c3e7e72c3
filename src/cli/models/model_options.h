// SPDX-License-Identifier: Apache-2.0
/// \file
/// Which models to ask and how, as the user says; stored with a run. No keys in here.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cli/config/config.h"

namespace cuco::cli {

struct ModelOptions {
  std::string service = "openai";  ///< Of models that are named without one.
  std::string model;               ///< "NAME" or "SERVICE:NAME".
  std::string endpoint;            ///< Instead of the service's URL.
  std::string key_variable;        ///< Name of the variable that holds the key.
  std::string key_file;            ///< Or of the file that does.
  std::string models_file;
  std::vector<std::string> fallback;  ///< Models to ask when the first cannot be reached.
  std::vector<std::string> command;
  std::vector<std::string> command_environment;
  std::string mailbox = "mailbox";
  std::vector<std::string> effort;  ///< "high", or "ROLE=high".
  double deadline_seconds = 600;
  int max_tokens = 16384;
  int prompt_tokens = 24000;
  std::int64_t call_budget = 0;   ///< Of the whole run; 0: no limit.
  std::int64_t token_budget = 0;  ///< The same; read, written and reserved.
  double dollar_budget = 0;       ///< The same, by the catalogue's prices.
};

[[nodiscard]] ModelOptions model_options(const Config& config);

/// The effort for a role: its own, else the general one, else empty.
[[nodiscard]] std::string effort_of(const ModelOptions& options, std::string_view role);

}  // namespace cuco::cli
