// SPDX-License-Identifier: Apache-2.0
#include "llm/protocol/blocks.h"

#include <algorithm>

#include <nlohmann/json.hpp>

namespace cuco::llm {

std::pair<std::string_view, std::string_view> cut_prompt(const Request& request) {
  const std::string_view prompt = request.prompt;
  std::size_t at = std::min(request.shared_prefix, prompt.size());
  while (at > 0 && at < prompt.size() && (static_cast<unsigned char>(prompt[at]) & 0xC0U) == 0x80U)
    --at;
  // Services refuse empty blocks: all of it is not a part of it.
  if (at == prompt.size()) at = 0;
  return {prompt.substr(0, at), prompt.substr(at)};
}

int thinking_tokens(const Request& request) {
  const int wanted = request.effort == "low" ? 2048 : request.effort == "medium" ? 8192 : 24576;
  return std::min(wanted, request.max_tokens / 2);
}

Json schema_json(const AnswerSchema& schema) {
  auto parsed = parse_json(schema.json);
  return parsed && parsed->is_object() ? *std::move(parsed) : Json::object();
}

}  // namespace cuco::llm
