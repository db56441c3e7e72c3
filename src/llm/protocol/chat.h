// SPDX-License-Identifier: Apache-2.0
/// \file
/// OpenAI's chat completions: the protocol that most services and local servers speak.
#pragma once

#include <string>
#include <string_view>

#include "llm/catalogue/model_facts.h"
#include "llm/protocol/answer.h"

namespace cuco::llm {

[[nodiscard]] std::string chat_body(const Request& request,
                                    const ModelFacts& facts,
                                    std::string_view model);

class ChatAnswer final : public Answer {
 public:
  Result<void> add_event(std::string_view name, std::string_view data) override;
  Result<void> set_whole(std::string_view json) override;
};

}  // namespace cuco::llm
