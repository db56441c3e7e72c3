// SPDX-License-Identifier: Apache-2.0
#include "llm/chat.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/json.h"

namespace cuco::llm {
namespace {

/// The member if it is a string; empty for null, absent and anything else.
std::string text_member(const Json& object, const char* key) {
  if (!object.is_object()) return {};
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

int count_member(const Json& object, const char* key) {
  if (!object.is_object()) return 0;
  const auto found = object.find(key);
  return found != object.end() && found->is_number_integer() ? found->get<int>() : 0;
}

/// Some servers report errors inside a 200 answer or in the middle of a stream.
Result<void> check_error(const Json& json) {
  if (!json.is_object()) return Error{ErrorKind::Protocol, "the answer is not a JSON object"};
  const auto error = json.find("error");
  if (error == json.end() || error->is_null()) return {};
  auto message = error->is_string() ? error->get<std::string>() : text_member(*error, "message");
  if (message.empty()) message = "an error without a message";
  return Error{ErrorKind::Protocol, fmt::format("the server says: {}", message)};
}

const Json* first_choice(const Json& json) {
  const auto choices = json.find("choices");
  if (choices == json.end() || !choices->is_array() || choices->empty()) return nullptr;
  return choices->front().is_object() ? &choices->front() : nullptr;
}

void read_usage(const Json& json, Reply& reply) {
  const auto usage = json.find("usage");
  if (usage == json.end() || !usage->is_object()) return;
  reply.prompt_tokens = count_member(*usage, "prompt_tokens");
  reply.answer_tokens = count_member(*usage, "completion_tokens");
}

}  // namespace

std::string chat_body(const Request& request, std::string_view model) {
  Json messages = Json::array();
  if (!request.system.empty()) {
    messages.push_back({{"role", "system"}, {"content", request.system}});
  }
  messages.push_back({{"role", "user"}, {"content", request.prompt}});
  const Json body{{"model", model},
                  {"messages", messages},
                  {"temperature", request.temperature},
                  {"max_tokens", request.max_tokens},
                  {"seed", request.seed},
                  {"stream", true},
                  {"stream_options", {{"include_usage", true}}}};
  return to_text(body);
}

Result<void> ChatAnswer::add_event(std::string_view data) {
  if (data == "[DONE]") {
    complete_ = true;
    return {};
  }
  CUCO_TRY_ASSIGN(const Json json, parse_json(data));
  CUCO_TRY(check_error(json));
  read_usage(json, reply_);
  // The last event of a stream carries only the usage.
  const auto* choice = first_choice(json);
  if (choice == nullptr) return {};
  if (const auto delta = choice->find("delta"); delta != choice->end()) {
    reply_.text += text_member(*delta, "content");
  }
  if (auto reason = text_member(*choice, "finish_reason"); !reason.empty()) {
    finish_reason_ = std::move(reason);
    // Not every server sends "[DONE]" after it.
    complete_ = true;
  }
  return {};
}

Result<void> ChatAnswer::set_whole(std::string_view text) {
  CUCO_TRY_ASSIGN(const Json json, parse_json(text));
  CUCO_TRY(check_error(json));
  read_usage(json, reply_);
  const auto* choice = first_choice(json);
  const auto message = choice == nullptr ? Json::const_iterator() : choice->find("message");
  if (choice == nullptr || message == choice->end()) {
    return Error{ErrorKind::Protocol, "the answer has no choices"};
  }
  reply_.text = text_member(*message, "content");
  finish_reason_ = text_member(*choice, "finish_reason");
  complete_ = true;
  return {};
}

}  // namespace cuco::llm
