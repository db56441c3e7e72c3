// SPDX-License-Identifier: Apache-2.0
/// \file
/// From what the user says about models to providers that can be asked.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "cli/models/model_options.h"
#include "llm/catalogue/catalogue.h"
#include "llm/guards/gate.h"
#include "llm/http/http_request.h"
#include "llm/provider.h"

namespace cuco::cli {

/// What is shipped, under the user's models.toml (beside their config.toml), under
/// llm.models_file.
[[nodiscard]] Result<llm::Catalogue> load_catalogue(const ModelOptions& options,
                                                    const system::Environment& environment);

/// The service and model that a name stands for, with its key. The options' endpoint and key go to
/// the service that llm.service or the first model names.
[[nodiscard]] Result<llm::Endpoint> find_endpoint(std::string_view name,
                                                  const ModelOptions& options,
                                                  const llm::Catalogue& catalogue,
                                                  const system::Environment& environment);

/// The same without its key: for what sends nothing.
[[nodiscard]] Result<llm::Endpoint> find_endpoint_without_key(std::string_view name,
                                                              const ModelOptions& options,
                                                              const llm::Catalogue& catalogue);

/// Whoever a proposer's name stands for: "model", "command", "command:PROGRAM ARGUMENT…",
/// "mailbox" or "mailbox:FOLDER". A model comes with its limits, its circuit breaker and its
/// fallbacks. `clock` must outlive it; `gates` are shared by all who ask the same services.
[[nodiscard]] Result<std::unique_ptr<llm::Provider>> make_provider(const std::string& proposer,
                                                                   const ModelOptions& options,
                                                                   llm::Gates& gates,
                                                                   Clock& clock);

/// The most that a token costs with any of the models that may be asked, in dollars. A budget in
/// dollars needs it: InvalidInput names the model whose price nobody knows.
[[nodiscard]] Result<double> dollars_per_token(const ModelOptions& options);

}  // namespace cuco::cli
