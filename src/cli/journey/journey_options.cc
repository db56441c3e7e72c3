// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "cli/journey/journey.h"

namespace cuco::cli {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(ModelOptions,
                                                service,
                                                model,
                                                endpoint,
                                                key_variable,
                                                key_file,
                                                models_file,
                                                fallback,
                                                command,
                                                command_environment,
                                                mailbox,
                                                effort,
                                                deadline_seconds,
                                                max_tokens,
                                                prompt_tokens,
                                                call_budget,
                                                token_budget,
                                                dollar_budget)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(JourneyOptions,
                                                workload,
                                                ranks,
                                                sources,
                                                args,
                                                includes,
                                                flags,
                                                seed,
                                                proposers,
                                                models,
                                                record,
                                                replay,
                                                secret,
                                                topology,
                                                on,
                                                candidates,
                                                planned,
                                                budget_seconds,
                                                jobs,
                                                window,
                                                policy,
                                                fast_path,
                                                start,
                                                knowledge,
                                                rounds)

bool is_self_contained(const JourneyOptions& options) {
  return std::ranges::all_of(options.proposers, [](const std::string& name) {
    return name == "expert" || name == "tuner";
  });
}

std::string to_json(const JourneyOptions& options) {
  return to_text(Json(options));
}

Result<JourneyOptions> parse_journey_options(std::string_view text) {
  CUCO_TRY_ASSIGN(const Json json, parse_json(text));
  try {
    auto options = json.get<JourneyOptions>();
    // Older runs have the same names one level up.
    if (!json.contains("models")) options.models = json.get<ModelOptions>();
    return options;
  } catch (const Json::exception& error) {
    return Error{ErrorKind::InvalidInput,
                 fmt::format("stored options of the run: {}", error.what())};
  }
}

}  // namespace cuco::cli
