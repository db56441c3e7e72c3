// SPDX-License-Identifier: Apache-2.0
#include "llm/http/helper_result.h"

#include <nlohmann/json.hpp>

#include "base/json.h"

namespace cuco::llm {
namespace {

template <typename Value, typename Read>
Result<Value> guarded(std::string_view text, const Read& read) {
  CUCO_TRY_ASSIGN(const Json json, parse_json(text));
  try {
    return read(json);
  } catch (const Json::exception& error) {
    return Error{ErrorKind::Protocol, std::string("cuco-http: ") + error.what()};
  }
}

std::chrono::milliseconds time_at(const Json& json, const char* key) {
  return std::chrono::milliseconds(json.at(key).get<std::int64_t>());
}

}  // namespace

std::string to_json(const HelperOrder& order) {
  return to_text(Json{{"protocol", static_cast<int>(order.protocol)},
                      {"url", order.request.url},
                      {"headers", order.request.headers},
                      {"body", order.request.body},
                      {"connect_ms", order.connect.count()},
                      {"silence_ms", order.silence.count()},
                      {"deadline_ms", order.deadline.count()}});
}

Result<HelperOrder> parse_helper_order(std::string_view text) {
  return guarded<HelperOrder>(text, [](const Json& json) {
    HelperOrder order;
    order.protocol = static_cast<Protocol>(json.at("protocol").get<int>());
    order.request.url = json.at("url").get<std::string>();
    order.request.headers = json.at("headers").get<std::map<std::string, std::string>>();
    order.request.body = json.at("body").get<std::string>();
    order.connect = time_at(json, "connect_ms");
    order.silence = time_at(json, "silence_ms");
    order.deadline = time_at(json, "deadline_ms");
    return order;
  });
}

std::string to_json(const HelperResult& result) {
  const Usage& usage = result.usage;
  return to_text(Json{
      {"trouble", static_cast<int>(result.trouble)},
      {"problem", result.problem},
      {"status", result.status},
      {"retry_after_ms", result.retry_after.count()},
      {"text", result.text},
      {"usage", {usage.prompt, usage.answer, usage.cached, usage.cache_written, usage.reasoning}},
      {"model", result.model},
      {"cut_off", result.cut_off},
      {"streamed", result.streamed},
      {"first_byte_ms", result.first_byte.count()}});
}

Result<HelperResult> parse_helper_result(std::string_view text) {
  return guarded<HelperResult>(text, [](const Json& json) {
    HelperResult result;
    result.trouble = static_cast<Trouble>(json.at("trouble").get<int>());
    result.problem = json.at("problem").get<std::string>();
    result.status = json.at("status").get<long>();
    result.retry_after = time_at(json, "retry_after_ms");
    result.text = json.at("text").get<std::string>();
    const Json& usage = json.at("usage");
    result.usage = {usage.at(0).get<int>(), usage.at(1).get<int>(), usage.at(2).get<int>(),
                    usage.at(3).get<int>(), usage.at(4).get<int>()};
    result.model = json.at("model").get<std::string>();
    result.cut_off = json.at("cut_off").get<bool>();
    result.streamed = json.at("streamed").get<bool>();
    result.first_byte = time_at(json, "first_byte_ms");
    return result;
  });
}

}  // namespace cuco::llm
