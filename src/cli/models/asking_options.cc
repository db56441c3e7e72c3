// SPDX-License-Identifier: Apache-2.0
#include "cli/models/asking_options.h"

#include <algorithm>

#include <fmt/format.h>

namespace cuco::cli {

void AskingOptions::declare(Arguments& arguments) {
  arguments.option("--proposer", proposers, "WHO",
                   "expert, tuner, model, command:PROGRAM or mailbox:FOLDER; may be repeated");
  arguments.option("--model", model, "NAME", "NAME or SERVICE:NAME (implies --proposer model)");
  arguments.option("--endpoint", endpoint, "URL", "base URL of the service");
  arguments.option("--record", record, "FILE", "write every exchange with a model to FILE")
      .completes(Completion::File);
  arguments.option("--replay", replay, "FILE", "answer from a recording instead of a model")
      .completes(Completion::File);
}

Result<void> AskingOptions::apply(const Config& config, JourneyOptions* options) const {
  options->proposers = proposers;
  if (options->proposers.empty()) {
    const bool implied = model || !replay.empty();
    options->proposers = {implied ? "model" : config.text("search.proposer")};
  } else if (model && replay.empty() && !asks("model")) {
    options->proposers.emplace_back("model");
  }
  CUCO_TRY(check(options->proposers));
  options->models = model_options(config);
  if (model) options->models.model = *model;
  if (!endpoint.empty()) options->models.endpoint = endpoint;
  options->record = record;
  options->replay = replay;
  return {};
}

bool AskingOptions::asks(std::string_view proposer) const {
  return std::ranges::find(proposers, proposer) != proposers.end();
}

Result<void> AskingOptions::check(const std::vector<std::string>& asked) const {
  const auto is_any = [&](auto&& holds) { return std::ranges::any_of(asked, holds); };
  if (!endpoint.empty() && !is_any([](const std::string& name) { return name == "model"; })) {
    return Error{ErrorKind::InvalidInput,
                 "--endpoint is where a model is reached: name the model with --model"};
  }
  const bool answers =
      is_any([](const std::string& name) { return name != "expert" && name != "tuner"; });
  if (answers || (record.empty() && replay.empty())) return {};
  return Error{ErrorKind::InvalidInput,
               fmt::format("{} needs somebody who is asked: --model NAME, --proposer "
                           "command:PROGRAM or --proposer mailbox:FOLDER",
                           record.empty() ? "--replay" : "--record")};
}

}  // namespace cuco::cli
