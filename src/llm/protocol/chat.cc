// SPDX-License-Identifier: Apache-2.0
#include "llm/protocol/chat.h"

#include <nlohmann/json.hpp>

#include "llm/protocol/blocks.h"
#include "llm/protocol/fields.h"

namespace cuco::llm {
namespace {

void read_usage(const Json& json, Usage& usage) {
  const Json& said = member_at(json, "usage");
  if (!said.is_object()) return;
  usage.prompt = count_at(said, "prompt_tokens");
  usage.answer = count_at(said, "completion_tokens");
  usage.cached = count_at(member_at(said, "prompt_tokens_details"), "cached_tokens");
  // DeepSeek has a name of its own for it.
  if (usage.cached == 0) usage.cached = count_at(said, "prompt_cache_hit_tokens");
  usage.reasoning = count_at(member_at(said, "completion_tokens_details"), "reasoning_tokens");
}

}  // namespace

std::string chat_body(const Request& request, const ModelFacts& facts, std::string_view model) {
  Json messages = Json::array();
  if (!request.system.empty()) {
    messages.push_back({{"role", "system"}, {"content", request.system}});
  }
  messages.push_back({{"role", "user"}, {"content", request.prompt}});
  Json body{{"model", model}, {"messages", messages}, {"stream", true}};
  body[facts.token_field] = request.max_tokens;
  if (facts.temperature && request.temperature) body["temperature"] = *request.temperature;
  // Servers hold it in 32 or 64 signed bits.
  if (facts.seed) body["seed"] = request.seed & 0x7FFFFFFFU;
  if (facts.stream_usage) body["stream_options"] = {{"include_usage", true}};
  if (facts.effort == "reasoning_effort" && !request.effort.empty()) {
    body["reasoning_effort"] = request.effort;
  }
  if (facts.schema && request.schema) {
    body["response_format"] = {{"type", "json_schema"},
                               {"json_schema",
                                {{"name", request.schema->name},
                                 {"strict", true},
                                 {"schema", schema_json(*request.schema)}}}};
  }
  return to_text(body);
}

Result<void> ChatAnswer::add_event(std::string_view, std::string_view data) {
  if (data == "[DONE]") {
    complete_ = true;
    return {};
  }
  CUCO_TRY_ASSIGN(const Json json, parse_answer(data));
  read_usage(json, usage_);
  if (auto model = text_at(json, "model"); !model.empty()) model_ = std::move(model);
  // The last event of a stream carries only the usage.
  const Json& choice = first_of(member_at(json, "choices"));
  text_ += text_at(member_at(choice, "delta"), "content");
  if (auto reason = text_at(choice, "finish_reason"); !reason.empty()) {
    finish_reason_ = std::move(reason);
    // Not every server sends "[DONE]" after it.
    complete_ = true;
  }
  return {};
}

Result<void> ChatAnswer::set_whole(std::string_view text) {
  CUCO_TRY_ASSIGN(const Json json, parse_answer(text));
  read_usage(json, usage_);
  const Json& choice = first_of(member_at(json, "choices"));
  const Json& message = member_at(choice, "message");
  if (!message.is_object()) return Error{ErrorKind::Protocol, "the answer has no choices"};
  model_ = text_at(json, "model");
  text_ = text_at(message, "content");
  finish_reason_ = text_at(choice, "finish_reason");
  complete_ = true;
  return {};
}

}  // namespace cuco::llm
