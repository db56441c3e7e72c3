// SPDX-License-Identifier: Apache-2.0
/// \file
/// The protocols of model services behind one door: what is sent, and what gathers the answer.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "llm/catalogue/model_facts.h"
#include "llm/protocol/answer.h"

namespace cuco::llm {

[[nodiscard]] std::string_view name_of(Protocol protocol);
[[nodiscard]] std::optional<Protocol> parse_protocol(std::string_view name);

/// Where requests go, behind the service's base URL; "{model}" stands for the model's name.
[[nodiscard]] std::string_view default_path(Protocol protocol);

/// The request's body, streaming. What the model cannot do is left out.
[[nodiscard]] std::string request_body(Protocol protocol,
                                       const Request& request,
                                       const ModelFacts& facts,
                                       std::string_view model);

[[nodiscard]] std::unique_ptr<Answer> make_answer(Protocol protocol);

}  // namespace cuco::llm
