// SPDX-License-Identifier: Apache-2.0
#include "llm/protocol/responses.h"

#include <nlohmann/json.hpp>

#include "llm/protocol/blocks.h"
#include "llm/protocol/fields.h"

namespace cuco::llm {
namespace {

void read_usage(const Json& response, Usage& usage) {
  const Json& said = member_at(response, "usage");
  if (!said.is_object()) return;
  usage.prompt = count_at(said, "input_tokens");
  usage.answer = count_at(said, "output_tokens");
  usage.cached = count_at(member_at(said, "input_tokens_details"), "cached_tokens");
  usage.reasoning = count_at(member_at(said, "output_tokens_details"), "reasoning_tokens");
}

/// The text of all messages of a finished response.
std::string output_text(const Json& response) {
  std::string text;
  const Json& output = member_at(response, "output");
  if (!output.is_array()) return text;
  for (const Json& item : output) {
    const Json& content = member_at(item, "content");
    if (!content.is_array()) continue;
    for (const Json& part : content) {
      if (text_at(part, "type") == "output_text") text += text_at(part, "text");
    }
  }
  return text;
}

}  // namespace

std::string responses_body(const Request& request,
                           const ModelFacts& facts,
                           std::string_view model) {
  // Nothing stays with the service.
  Json body{{"model", model}, {"input", request.prompt}, {"stream", true}, {"store", false}};
  if (!request.system.empty()) body["instructions"] = request.system;
  body["max_output_tokens"] = request.max_tokens;
  if (facts.temperature && request.temperature) body["temperature"] = *request.temperature;
  if (!facts.effort.empty() && !request.effort.empty()) {
    body["reasoning"] = {{"effort", request.effort}};
  }
  if (facts.schema && request.schema) {
    body["text"] = {{"format",
                     {{"type", "json_schema"},
                      {"name", request.schema->name},
                      {"strict", true},
                      {"schema", schema_json(*request.schema)}}}};
  }
  return to_text(body);
}

Result<void> ResponsesAnswer::add_event(std::string_view name, std::string_view data) {
  if (data == "[DONE]") return {};
  CUCO_TRY_ASSIGN(const Json json, parse_answer(data));
  auto type = text_at(json, "type");
  if (type.empty()) type = name;
  if (type == "error") return service_error(text_at(json, "code"), text_at(json, "message"));
  if (type == "response.output_text.delta") text_ += text_at(json, "delta");
  const Json& response = member_at(json, "response");
  if (auto model = text_at(response, "model"); !model.empty()) model_ = std::move(model);
  if (type == "response.failed") {
    const Json& error = member_at(response, "error");
    return service_error(text_at(error, "code"), text_at(error, "message"));
  }
  if (type != "response.completed" && type != "response.incomplete") return {};
  read_usage(response, usage_);
  // A server may send no deltas at all.
  if (text_.empty()) text_ = output_text(response);
  const auto reason = text_at(member_at(response, "incomplete_details"), "reason");
  finish_reason_ = reason.empty() ? "completed" : reason;
  complete_ = true;
  return {};
}

Result<void> ResponsesAnswer::set_whole(std::string_view text) {
  CUCO_TRY_ASSIGN(const Json json, parse_answer(text));
  if (!member_at(json, "output").is_array()) {
    return Error{ErrorKind::Protocol, "the answer has no output"};
  }
  read_usage(json, usage_);
  model_ = text_at(json, "model");
  text_ = output_text(json);
  const auto reason = text_at(member_at(json, "incomplete_details"), "reason");
  finish_reason_ = reason.empty() ? text_at(json, "status") : reason;
  complete_ = true;
  return {};
}

}  // namespace cuco::llm
