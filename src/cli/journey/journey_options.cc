// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "cli/journey/journey.h"

namespace cuco::cli {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(JourneyOptions,
                                                workload,
                                                ranks,
                                                args,
                                                includes,
                                                flags,
                                                seed,
                                                proposers,
                                                model,
                                                endpoint,
                                                key_variable,
                                                key_file,
                                                record,
                                                replay,
                                                topology,
                                                candidates,
                                                budget_seconds,
                                                jobs,
                                                window)

std::string to_json(const JourneyOptions& options) {
  return to_text(Json(options));
}

Result<JourneyOptions> parse_journey_options(std::string_view text) {
  CUCO_TRY_ASSIGN(const Json json, parse_json(text));
  try {
    return json.get<JourneyOptions>();
  } catch (const Json::exception& error) {
    return Error{ErrorKind::InvalidInput,
                 fmt::format("stored options of the run: {}", error.what())};
  }
}

}  // namespace cuco::cli
