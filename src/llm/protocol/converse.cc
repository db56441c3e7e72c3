// SPDX-License-Identifier: Apache-2.0
#include "llm/protocol/converse.h"

#include <nlohmann/json.hpp>

#include "llm/protocol/blocks.h"
#include "llm/protocol/fields.h"

namespace cuco::llm {
namespace {

/// Cached tokens are counted beside the others here.
void read_usage(const Json& said, Usage& usage) {
  if (!said.is_object()) return;
  usage.cached = count_at(said, "cacheReadInputTokens");
  usage.cache_written = count_at(said, "cacheWriteInputTokens");
  usage.prompt = count_at(said, "inputTokens") + usage.cached + usage.cache_written;
  usage.answer = count_at(said, "outputTokens");
}

}  // namespace

std::string converse_body(const Request& request, const ModelFacts& facts, std::string_view) {
  const Json cache_point{{"cachePoint", {{"type", "default"}}}};
  const auto [shared, rest] = cut_prompt(request);
  Json content = Json::array();
  if (!shared.empty()) {
    content.push_back({{"text", shared}});
    content.push_back(cache_point);
  }
  content.push_back({{"text", rest}});
  Json body{{"messages", Json::array({{{"role", "user"}, {"content", content}}})},
            {"inferenceConfig", {{"maxTokens", request.max_tokens}}}};
  if (!request.system.empty()) body["system"] = Json::array({{{"text", request.system}}});
  if (facts.temperature && request.temperature) {
    body["inferenceConfig"]["temperature"] = *request.temperature;
  }
  if (!facts.effort.empty() && !request.effort.empty())
    body["outputConfig"]["effort"] = request.effort;
  if (facts.schema && request.schema) {
    body["outputConfig"]["textFormat"] = {
        {"type", "json_schema"},
        {"structure",
         {{"jsonSchema",
           {{"name", request.schema->name}, {"schema", to_text(schema_json(*request.schema))}}}}}};
  }
  return to_text(body);
}

Result<void> ConverseAnswer::add_event(std::string_view name, std::string_view data) {
  CUCO_TRY_ASSIGN(const Json json, parse_answer(data));
  // Frames of exceptions carry the exception's name.
  if (name.ends_with("Exception")) return service_error(name, text_at(json, "message"));
  if (name == "contentBlockDelta") {
    text_ += text_at(member_at(json, "delta"), "text");
  } else if (name == "messageStop") {
    finish_reason_ = text_at(json, "stopReason");
    complete_ = true;
  } else if (name == "metadata") {
    read_usage(member_at(json, "usage"), usage_);
  }
  return {};
}

Result<void> ConverseAnswer::set_whole(std::string_view text) {
  CUCO_TRY_ASSIGN(const Json json, parse_answer(text));
  const Json& content = member_at(member_at(member_at(json, "output"), "message"), "content");
  if (!content.is_array()) {
    // Errors are objects with nothing but a message.
    const auto message = text_at(json, "message");
    if (!message.empty()) return service_error(text_at(json, "__type"), message);
    return Error{ErrorKind::Protocol, "the answer has no output"};
  }
  text_.clear();
  for (const Json& block : content)
    text_ += text_at(block, "text");
  read_usage(member_at(json, "usage"), usage_);
  finish_reason_ = text_at(json, "stopReason");
  complete_ = true;
  return {};
}

}  // namespace cuco::llm
