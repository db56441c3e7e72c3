// SPDX-License-Identifier: Apache-2.0
#include "llm/protocol/fields.h"

#include <algorithm>
#include <cctype>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "llm/protocol/answer.h"

namespace cuco::llm {
namespace {

constexpr std::int64_t kMostTokens = 1'000'000'000;
constexpr std::size_t kMostShown = 2000;

std::string lower(std::string_view text) {
  std::string result(text);
  for (auto& c : result)
    c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return result;
}

/// "overloaded_error", "rate_limit_exceeded", "server_error", "throttlingException",
/// "UNAVAILABLE", …
bool is_passing(std::string_view type) {
  const auto word = lower(type);
  for (const std::string_view part :
       {"overload", "rate_limit", "ratelimit", "throttl", "server_error", "api_error", "internal",
        "unavailable", "timeout", "resource_exhausted", "modelstreamerror"}) {
    if (word.find(part) != std::string::npos) return true;
  }
  return false;
}

}  // namespace

bool Answer::cut_off() const {
  const auto word = lower(finish_reason_);
  return word == "length" || word.find("max_tokens") != std::string::npos ||
         word.find("max_output_tokens") != std::string::npos ||
         word.find("context_window") != std::string::npos;
}

const Json& member_at(const Json& object, const char* key) {
  static const Json kNothing;
  if (!object.is_object()) return kNothing;
  const auto found = object.find(key);
  return found == object.end() ? kNothing : *found;
}

std::string text_at(const Json& object, const char* key) {
  const Json& found = member_at(object, key);
  return found.is_string() ? found.get<std::string>() : std::string();
}

int count_at(const Json& object, const char* key) {
  const Json& found = member_at(object, key);
  if (!found.is_number_integer()) return 0;
  if (found.is_number_unsigned()) {
    const auto value = found.get<std::uint64_t>();
    return static_cast<int>(std::min<std::uint64_t>(value, kMostTokens));
  }
  return static_cast<int>(std::clamp<std::int64_t>(found.get<std::int64_t>(), 0, kMostTokens));
}

const Json& first_of(const Json& list) {
  static const Json kNothing;
  if (!list.is_array() || list.empty() || !list.front().is_object()) return kNothing;
  return list.front();
}

Error service_error(std::string_view type, std::string message) {
  if (message.empty()) message = "an error without a message";
  if (message.size() > kMostShown) message.resize(kMostShown);
  return {is_passing(type) ? ErrorKind::Unavailable : ErrorKind::Protocol,
          fmt::format("the service says: {}", message)};
}

Result<Json> parse_answer(std::string_view text) {
  CUCO_TRY_ASSIGN(Json json, parse_json(text));
  // Gemini wraps errors of streams in a list.
  if (json.is_array() && json.size() == 1) json = Json(json.front());
  if (!json.is_object()) return Error{ErrorKind::Protocol, "the answer is not a JSON object"};
  const Json& error = member_at(json, "error");
  if (error.is_null()) return json;
  if (error.is_string()) return service_error("", error.get<std::string>());
  auto type =
      text_at(error, "type") + " " + text_at(error, "status") + " " + text_at(error, "code");
  const int code = count_at(error, "code");
  if (code == 429 || code >= 500) type += " unavailable";
  return service_error(type, text_at(error, "message"));
}

}  // namespace cuco::llm
