// SPDX-License-Identifier: Apache-2.0
#include "cli/models/model_options.h"

#include <algorithm>

namespace cuco::cli {

ModelOptions model_options(const Config& config) {
  ModelOptions made;
  made.service = config.text("llm.service");
  made.model = config.text("llm.model");
  made.endpoint = config.text("llm.endpoint");
  made.key_variable = config.text("llm.key_variable");
  made.key_file = config.text("llm.key_file");
  made.models_file = config.text("llm.models_file");
  made.fallback = config.words("llm.fallback");
  made.command = config.words("llm.command");
  made.command_environment = config.words("llm.command_environment");
  made.mailbox = config.text("llm.mailbox");
  made.effort = config.words("llm.effort");
  made.deadline_seconds = config.seconds("llm.deadline");
  made.max_tokens =
      static_cast<int>(std::clamp<std::int64_t>(config.integer("llm.max_tokens"), 1, 10'000'000));
  made.prompt_tokens = static_cast<int>(
      std::clamp<std::int64_t>(config.integer("llm.prompt_tokens"), 1000, 10'000'000));
  made.call_budget = std::max<std::int64_t>(0, config.integer("llm.call_budget"));
  made.token_budget = std::max<std::int64_t>(0, config.integer("llm.token_budget"));
  made.dollar_budget = std::max(0.0, config.number("llm.dollar_budget"));
  return made;
}

std::string effort_of(const ModelOptions& options, std::string_view role) {
  std::string general;
  for (const std::string& word : options.effort) {
    const auto equals = word.find('=');
    if (equals == std::string::npos) {
      general = word;
    } else if (word.substr(0, equals) == role) {
      return word.substr(equals + 1);
    }
  }
  return general;
}

}  // namespace cuco::cli
