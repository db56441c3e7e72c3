// SPDX-License-Identifier: Apache-2.0
#include "llm/protocol/gemini.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "llm/protocol/blocks.h"
#include "llm/protocol/fields.h"

namespace cuco::llm {
namespace {

/// Thoughts are counted beside the answer here.
void read_usage(const Json& json, Usage& usage) {
  const Json& said = member_at(json, "usageMetadata");
  if (!said.is_object()) return;
  usage.prompt = count_at(said, "promptTokenCount");
  usage.cached = count_at(said, "cachedContentTokenCount");
  usage.reasoning = count_at(said, "thoughtsTokenCount");
  usage.answer = count_at(said, "candidatesTokenCount") + usage.reasoning;
}

/// The parts of an answer that are not thoughts.
std::string parts_text(const Json& candidate) {
  std::string text;
  const Json& parts = member_at(member_at(candidate, "content"), "parts");
  if (!parts.is_array()) return text;
  for (const Json& part : parts) {
    const Json& thought = member_at(part, "thought");
    if (!(thought.is_boolean() && thought.get<bool>())) text += text_at(part, "text");
  }
  return text;
}

Json generation_config(const Request& request, const ModelFacts& facts) {
  Json config{{"maxOutputTokens", request.max_tokens}};
  if (facts.temperature && request.temperature) config["temperature"] = *request.temperature;
  if (facts.seed) config["seed"] = request.seed & 0x7FFFFFFFU;
  if (!request.effort.empty()) {
    if (facts.effort == "thinking_level")
      config["thinkingConfig"] = {{"thinkingLevel", request.effort}};
    if (facts.effort == "thinking_budget")
      config["thinkingConfig"] = {{"thinkingBudget", thinking_tokens(request)}};
  }
  if (facts.schema && request.schema) {
    config["responseMimeType"] = "application/json";
    config["responseJsonSchema"] = schema_json(*request.schema);
  }
  return config;
}

}  // namespace

std::string gemini_body(const Request& request, const ModelFacts& facts, std::string_view) {
  const auto part = [](std::string_view text) { return Json::array({{{"text", text}}}); };
  Json body{{"contents", Json::array({{{"role", "user"}, {"parts", part(request.prompt)}}})},
            {"generationConfig", generation_config(request, facts)}};
  if (!request.system.empty()) body["systemInstruction"] = {{"parts", part(request.system)}};
  return to_text(body);
}

Result<void> GeminiAnswer::add_event(std::string_view, std::string_view data) {
  CUCO_TRY_ASSIGN(const Json json, parse_answer(data));
  read_usage(json, usage_);
  if (auto model = text_at(json, "modelVersion"); !model.empty()) model_ = std::move(model);
  const auto blocked = text_at(member_at(json, "promptFeedback"), "blockReason");
  if (!blocked.empty()) {
    return Error{ErrorKind::Protocol, fmt::format("the service refused the prompt: {}", blocked)};
  }
  const Json& candidate = first_of(member_at(json, "candidates"));
  text_ += parts_text(candidate);
  if (auto reason = text_at(candidate, "finishReason"); !reason.empty()) {
    finish_reason_ = std::move(reason);
    complete_ = true;
  }
  return {};
}

Result<void> GeminiAnswer::set_whole(std::string_view text) {
  text_.clear();
  CUCO_TRY(add_event({}, text));
  if (!complete_) return Error{ErrorKind::Protocol, "the answer has no finished candidate"};
  return {};
}

}  // namespace cuco::llm
