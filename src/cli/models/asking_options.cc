// SPDX-License-Identifier: Apache-2.0
#include "cli/models/asking_options.h"

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

void AskingOptions::apply(const Config& config, JourneyOptions* options) const {
  options->proposers = proposers;
  if (options->proposers.empty()) {
    const bool asks = model || !replay.empty();
    options->proposers = {asks ? "model" : config.text("search.proposer")};
  }
  options->models = model_options(config);
  if (model) options->models.model = *model;
  if (!endpoint.empty()) options->models.endpoint = endpoint;
  options->record = record;
  options->replay = replay;
}

}  // namespace cuco::cli
