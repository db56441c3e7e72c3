// SPDX-License-Identifier: Apache-2.0
// cuco-http: one streaming chat request. Reads an order (JSON: url, key, body, limits) on standard
// input and writes what came of it (JSON) to standard output. The key goes into the request's
// header and nowhere else.
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>

#include <curl/curl.h>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "base/text.h"
#include "llm/chat.h"
#include "llm/sse.h"

namespace cuco::llm {
namespace {

constexpr std::size_t kMaxBody = std::size_t{16} << 20U;
constexpr std::size_t kShown = 400;

/// The answer as it arrives.
struct Conversation {
  ChatAnswer answer;
  SseParser parser{[this](std::string_view data) { return answer.add_event(data); }};
  std::string body;  ///< Only of answers that are not event streams.
  std::string problem;
  bool streams = false;
};

/// curl calls this for every header line; the content type decides how the body is read.
std::size_t on_header(char* bytes, std::size_t, std::size_t count, void* user) {
  const std::string_view line(bytes, count);
  std::string lower(line);
  for (auto& c : lower)
    c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  if (lower.starts_with("content-type:")) {
    static_cast<Conversation*>(user)->streams =
        lower.find("text/event-stream") != std::string::npos;
  }
  return count;
}

/// Events are parsed as they arrive; a body that is not a stream is collected whole.
std::size_t on_body(char* bytes, std::size_t, std::size_t count, void* user) {
  auto& conversation = *static_cast<Conversation*>(user);
  const std::string_view text(bytes, count);
  if (!conversation.streams) {
    if (conversation.body.size() + count > kMaxBody) return 0;
    conversation.body += text;
    return count;
  }
  const auto fed = conversation.parser.feed(text);
  if (!fed) {
    conversation.problem = fed.error().message();
    return 0;  // ends the transfer
  }
  return count;
}

/// A server's own words about a failure, or the status alone.
std::string refusal(const Conversation& conversation, long status) {
  ChatAnswer probe;
  const auto parsed = probe.set_whole(conversation.body);
  std::string words = parsed ? "" : parsed.error().message();
  if (!words.starts_with("the server says")) {
    words = trim(std::string_view(conversation.body).substr(0, kShown));
  }
  return "HTTP " + std::to_string(status) + (words.empty() ? "" : ": " + words);
}

/// In order of certainty: what we rejected ourselves, the deadline, the server, the connection, the
/// answer.
void judge(Conversation& conversation, CURLcode code, long status, Json& result) {
  if (!conversation.problem.empty()) {
    result["problem"] = conversation.problem;
    return;
  }
  if (code == CURLE_OPERATION_TIMEDOUT) {
    result["timed_out"] = true;
    result["problem"] = "deadline exceeded";
    return;
  }
  if (status >= 400) {
    result["problem"] = refusal(conversation, status);
    return;
  }
  // A connection that breaks after the last event has lost nothing.
  if (code != CURLE_OK && !conversation.answer.complete()) {
    result["broken_off"] = true;
    result["problem"] = curl_easy_strerror(code);
    return;
  }
  const auto ended = conversation.streams ? conversation.parser.finish()
                                          : conversation.answer.set_whole(conversation.body);
  if (!ended) {
    result["problem"] = ended.error().message();
  } else if (!conversation.answer.complete()) {
    result["broken_off"] = true;
    result["problem"] = "the answer was cut off";
  } else {
    const auto& reply = conversation.answer.reply();
    result["text"] = reply.text;
    result["prompt_tokens"] = reply.prompt_tokens;
    result["answer_tokens"] = reply.answer_tokens;
  }
}

Json talk(const Json& order) {
  Json result{{"status", 0}};
  Conversation conversation;
  const std::unique_ptr<CURL, decltype(&curl_easy_cleanup)> curl(curl_easy_init(),
                                                                 curl_easy_cleanup);
  curl_slist* headers = curl_slist_append(nullptr, "Content-Type: application/json");
  headers = curl_slist_append(headers, "Accept: text/event-stream, application/json");
  if (const auto key = order.value("key", ""); !key.empty()) {
    headers = curl_slist_append(headers, ("Authorization: Bearer " + key).c_str());
  }
  const auto url = order.value("url", "");
  const auto body = order.value("body", "");
  const auto set = [&](CURLoption option, auto value) {
    curl_easy_setopt(curl.get(), option, value);
  };
  set(CURLOPT_URL, url.c_str());
  set(CURLOPT_PROTOCOLS_STR, "http,https");
  set(CURLOPT_HTTPHEADER, headers);
  set(CURLOPT_POSTFIELDS, body.c_str());
  set(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(body.size()));
  set(CURLOPT_HEADERFUNCTION, &on_header);
  set(CURLOPT_HEADERDATA, &conversation);
  set(CURLOPT_WRITEFUNCTION, &on_body);
  set(CURLOPT_WRITEDATA, &conversation);
  set(CURLOPT_NOSIGNAL, 1L);
  set(CURLOPT_CONNECTTIMEOUT_MS, order.value("connect_ms", 10'000L));
  set(CURLOPT_TIMEOUT_MS, order.value("deadline_ms", 300'000L));
  // Less than a byte per second for idle_ms means that the server is gone.
  set(CURLOPT_LOW_SPEED_LIMIT, 1L);
  set(CURLOPT_LOW_SPEED_TIME, order.value("idle_ms", 60'000L) / 1000);
  const auto code = curl_easy_perform(curl.get());
  long status = 0;
  curl_easy_getinfo(curl.get(), CURLINFO_RESPONSE_CODE, &status);
  curl_off_t retry_after = 0;
  curl_easy_getinfo(curl.get(), CURLINFO_RETRY_AFTER, &retry_after);
  result["status"] = status;
  result["retry_after_ms"] = retry_after * 1000;
  judge(conversation, code, status, result);
  curl_slist_free_all(headers);
  return result;
}

int run() {
  std::string input;
  char buffer[1 << 16];
  for (std::size_t n = 0; (n = std::fread(buffer, 1, sizeof buffer, stdin)) > 0;) {
    input.append(buffer, n);
  }
  const auto order = parse_json(input);
  if (!order || !order->is_object()) {
    std::fputs("cuco-http: the request on standard input is not a JSON object\n", stderr);
    return 2;
  }
  curl_global_init(CURL_GLOBAL_DEFAULT);
  const auto text = to_text(talk(*order));
  std::fwrite(text.data(), 1, text.size(), stdout);
  curl_global_cleanup();
  return 0;
}

}  // namespace
}  // namespace cuco::llm

int main() {
  return cuco::llm::run();
}
