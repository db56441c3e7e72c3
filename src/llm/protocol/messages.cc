// SPDX-License-Identifier: Apache-2.0
#include "llm/protocol/messages.h"

#include <nlohmann/json.hpp>

#include "llm/protocol/blocks.h"
#include "llm/protocol/fields.h"

namespace cuco::llm {
namespace {

/// Cached tokens are counted beside the others here; later events repeat some of the counts.
void read_usage(const Json& said, Usage& usage) {
  if (!said.is_object()) return;
  if (said.contains("input_tokens") && said.at("input_tokens").is_number()) {
    usage.cached = count_at(said, "cache_read_input_tokens");
    usage.cache_written = count_at(said, "cache_creation_input_tokens");
    usage.prompt = count_at(said, "input_tokens") + usage.cached + usage.cache_written;
  }
  if (const int answer = count_at(said, "output_tokens"); answer > 0) usage.answer = answer;
}

Json text_block(std::string_view text, bool cache) {
  Json block{{"type", "text"}, {"text", text}};
  if (cache) block["cache_control"] = {{"type", "ephemeral"}};
  return block;
}

}  // namespace

std::string messages_body(const Request& request, const ModelFacts& facts, std::string_view model) {
  const auto [shared, rest] = cut_prompt(request);
  Json content = Json::array();
  if (!shared.empty()) content.push_back(text_block(shared, true));
  content.push_back(text_block(rest, false));
  Json body{{"model", model},
            {"max_tokens", request.max_tokens},
            {"stream", true},
            {"messages", Json::array({{{"role", "user"}, {"content", content}}})}};
  if (!request.system.empty()) body["system"] = Json::array({text_block(request.system, true)});
  const bool thinks = facts.effort == "thinking_budget" && !request.effort.empty();
  // A model that thinks takes no temperature.
  if (facts.temperature && request.temperature && !thinks)
    body["temperature"] = *request.temperature;
  if (thinks) {
    body["thinking"] = {{"type", "enabled"}, {"budget_tokens", thinking_tokens(request)}};
  }
  if (facts.effort == "output_config" && !request.effort.empty()) {
    body["output_config"]["effort"] = request.effort;
  }
  if (facts.schema && request.schema) {
    body["output_config"]["format"] = {{"type", "json_schema"},
                                       {"schema", schema_json(*request.schema)}};
  }
  return to_text(body);
}

Result<void> MessagesAnswer::add_event(std::string_view, std::string_view data) {
  CUCO_TRY_ASSIGN(const Json json, parse_answer(data));
  const auto type = text_at(json, "type");
  if (type == "message_start") {
    const Json& message = member_at(json, "message");
    model_ = text_at(message, "model");
    read_usage(member_at(message, "usage"), usage_);
  } else if (type == "content_block_delta") {
    // Thinking and signatures are deltas, too: only text is the answer.
    const Json& delta = member_at(json, "delta");
    if (text_at(delta, "type") == "text_delta") text_ += text_at(delta, "text");
  } else if (type == "message_delta") {
    read_usage(member_at(json, "usage"), usage_);
    if (auto reason = text_at(member_at(json, "delta"), "stop_reason"); !reason.empty())
      finish_reason_ = std::move(reason);
  } else if (type == "message_stop") {
    complete_ = true;
  }
  return {};
}

Result<void> MessagesAnswer::set_whole(std::string_view text) {
  CUCO_TRY_ASSIGN(const Json json, parse_answer(text));
  const Json& content = member_at(json, "content");
  if (!content.is_array()) return Error{ErrorKind::Protocol, "the answer has no content"};
  text_.clear();
  for (const Json& block : content) {
    if (text_at(block, "type") == "text") text_ += text_at(block, "text");
  }
  read_usage(member_at(json, "usage"), usage_);
  model_ = text_at(json, "model");
  finish_reason_ = text_at(json, "stop_reason");
  complete_ = true;
  return {};
}

}  // namespace cuco::llm
