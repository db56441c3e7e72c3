// SPDX-License-Identifier: Apache-2.0
/// \file
/// OpenAI's responses.
#pragma once

#include <string>
#include <string_view>

#include "llm/catalogue/model_facts.h"
#include "llm/protocol/answer.h"

namespace cuco::llm {

[[nodiscard]] std::string responses_body(const Request& request,
                                         const ModelFacts& facts,
                                         std::string_view model);

class ResponsesAnswer final : public Answer {
 public:
  Result<void> add_event(std::string_view name, std::string_view data) override;
  Result<void> set_whole(std::string_view json) override;
};

}  // namespace cuco::llm
