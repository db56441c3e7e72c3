// SPDX-License-Identifier: Apache-2.0
// cuco-http: one request to a model's service. Reads an order on standard input and writes what
// came of it to standard output (http/helper_result.h). The key goes into the request's headers and
// nowhere else: this process leaves no core file, and nobody can look into it.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <curl/curl.h>
#include <fmt/format.h>

#include "base/text.h"
#include "llm/http/helper_result.h"
#include "llm/http/retry.h"
#include "llm/protocol/event_frames.h"
#include "llm/protocol/model_protocol.h"
#include "llm/protocol/sse.h"
#include "system/os/private_file.h"

namespace cuco::llm {
namespace {

using Time = std::chrono::steady_clock::time_point;
using std::chrono::milliseconds;

constexpr std::size_t kMostBody = 2 * kMostAnswer;  // JSON escapes and frames around the text
constexpr std::size_t kShown = 400;
constexpr int kPollMs = 100;

Time now() {
  return std::chrono::steady_clock::now();
}

milliseconds since(Time start) {
  return std::chrono::duration_cast<milliseconds>(now() - start);
}

/// The answer as it arrives.
struct Conversation {
  explicit Conversation(Protocol protocol) : answer(make_answer(protocol)) {}

  [[nodiscard]] bool streams() const { return events || frames; }

  std::unique_ptr<Answer> answer;
  SseParser parser{[this](auto name, auto data) { return answer->add_event(name, data); }};
  EventFrames framed{[this](auto name, auto data) { return answer->add_event(name, data); }};
  std::string body;  ///< Only of answers that are not streams.
  std::size_t received = 0;
  std::optional<Error> problem;
  Time start = now();
  Time last = start;
  std::optional<milliseconds> first_byte;
  bool events = false;
  bool frames = false;
  bool too_long = false;
};

/// curl calls this for every header line; the content type decides how the body is read.
std::size_t on_header(char* bytes, std::size_t, std::size_t count, void* user) {
  auto& conversation = *static_cast<Conversation*>(user);
  conversation.last = now();
  std::string lower(bytes, count);
  for (auto& c : lower)
    c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  if (lower.starts_with("content-type:")) {
    conversation.events = lower.find("text/event-stream") != std::string::npos;
    conversation.frames = lower.find("amazon.eventstream") != std::string::npos;
  }
  return count;
}

/// Events are parsed as they arrive; a body that is not a stream is collected whole. Returning less
/// than `count` ends the transfer.
std::size_t on_body(char* bytes, std::size_t, std::size_t count, void* user) {
  auto& conversation = *static_cast<Conversation*>(user);
  const std::string_view text(bytes, count);
  conversation.last = now();
  if (!conversation.first_byte) conversation.first_byte = since(conversation.start);
  conversation.received += count;
  const bool stream_too_long = conversation.answer->text().size() > kMostAnswer;
  if (stream_too_long || (!conversation.streams() && conversation.received > kMostBody)) {
    conversation.too_long = true;
    return 0;
  }
  if (!conversation.streams()) {
    conversation.body += text;
    return count;
  }
  auto fed = conversation.events ? conversation.parser.feed(text) : conversation.framed.feed(text);
  if (fed) return count;
  conversation.problem = std::move(fed).error();
  return 0;
}

/// A service's own words about a failure, or the status alone.
std::string refusal(const Conversation& conversation, Protocol protocol, long status) {
  const auto parsed = make_answer(protocol)->set_whole(conversation.body);
  std::string words = parsed ? "" : parsed.error().message();
  if (!words.starts_with("the service says")) {
    words = trim(std::string_view(conversation.body).substr(0, kShown));
  }
  return "HTTP " + std::to_string(status) + (words.empty() ? "" : ": " + words);
}

/// No money is no overload, though it has the same status.
bool is_out_of_money(std::string_view body) {
  return body.find("insufficient_quota") != std::string_view::npos ||
         body.find("billing_hard_limit") != std::string_view::npos;
}

/// A certificate that does not fit is no passing trouble, unlike a handshake that was cut off.
Trouble trouble_of(CURLcode code, long os_error) {
  switch (code) {
    case CURLE_UNSUPPORTED_PROTOCOL:
    case CURLE_URL_MALFORMAT:
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_SSL_CIPHER:
    case CURLE_SSL_ISSUER_ERROR:
    case CURLE_TOO_MANY_REDIRECTS:
      return Trouble::Refused;
    case CURLE_SSL_CONNECT_ERROR:
      return os_error == 0 ? Trouble::Refused : Trouble::Busy;
    case CURLE_COULDNT_RESOLVE_PROXY:
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_CONNECT:
    case CURLE_OPERATION_TIMEDOUT:
      return Trouble::Busy;
    default:
      return Trouble::Broken;
  }
}

/// How the transfer ended.
struct Ending {
  CURLcode code = CURLE_OK;
  std::string detail;
  long status = 0;
  long os_error = 0;
  bool late = false;
  bool silent = false;
};

void set(HelperResult& result, Trouble trouble, std::string problem) {
  result.trouble = trouble;
  result.problem = std::move(problem);
}

/// What the service itself says ends a call; what is no answer at all may be one the next time.
void judge_problem(const Error& problem, HelperResult& result) {
  const bool said = problem.message().starts_with("the service");
  set(result,
      problem.kind() == ErrorKind::Unavailable ? Trouble::Busy
      : said                                   ? Trouble::Refused
                                               : Trouble::Malformed,
      problem.message());
}

/// In order of certainty: what we rejected ourselves, the deadline, the service, the connection,
/// the answer.
void judge(Conversation& conversation,
           const Ending& ending,
           const HelperOrder& order,
           HelperResult& result) {
  if (conversation.too_long) {
    return set(result, Trouble::Refused,
               "the answer is longer than " + std::to_string(kMostAnswer >> 20U) + " MiB");
  }
  if (conversation.problem) return judge_problem(*conversation.problem, result);
  if (ending.late) return set(result, Trouble::Late, "the deadline passed");
  if (ending.status >= 400) {
    const bool passing = is_passing_status(ending.status) && !is_out_of_money(conversation.body);
    return set(result, passing ? Trouble::Busy : Trouble::Refused,
               refusal(conversation, order.protocol, ending.status));
  }
  // A connection that breaks after the last event has lost nothing.
  const bool whole = conversation.answer->complete();
  if (ending.silent && !whole) {
    return set(result, Trouble::Broken,
               "no byte for " + std::to_string(order.silence.count()) + " ms");
  }
  if (ending.code != CURLE_OK && !whole)
    return set(result, trouble_of(ending.code, ending.os_error), ending.detail);
  if (ending.status >= 300)
    return set(result, Trouble::Refused, "HTTP " + std::to_string(ending.status) + ": redirected");
  auto ended = conversation.events   ? conversation.parser.finish()
               : conversation.frames ? Result<void>()
                                     : conversation.answer->set_whole(conversation.body);
  if (!ended) return judge_problem(ended.error(), result);
  if (!conversation.answer->complete())
    return set(result, Trouble::Broken, "the answer was cut off");
  result.text = conversation.answer->text();
  if (!result.text.empty()) return;
  if (conversation.answer->cut_off()) {
    set(result, Trouble::Refused,
        "all tokens went into thinking, none into an answer: allow more, or ask for less effort");
  } else {
    set(result, Trouble::Malformed,
        "an empty answer (" + conversation.answer->finish_reason() + ")");
  }
}

/// Runs until the transfer ends, the service falls silent or the deadline passes.
Ending transfer(CURL* curl, const Conversation& conversation, const HelperOrder& order) {
  Ending ending;
  const std::unique_ptr<CURLM, decltype(&curl_multi_cleanup)> multi(curl_multi_init(),
                                                                    curl_multi_cleanup);
  curl_multi_add_handle(multi.get(), curl);
  for (int running = 1; running > 0;) {
    curl_multi_perform(multi.get(), &running);
    if (running == 0) break;
    ending.late = since(conversation.start) >= order.deadline;
    ending.silent = since(conversation.last) >= order.silence;
    if (ending.late || ending.silent) break;
    curl_multi_poll(multi.get(), nullptr, 0, kPollMs, nullptr);
  }
  int left = 0;
  while (const CURLMsg* message = curl_multi_info_read(multi.get(), &left)) {
    if (message->msg == CURLMSG_DONE) ending.code = message->data.result;
  }
  curl_multi_remove_handle(multi.get(), curl);
  return ending;
}

void prepare(CURL* curl, const HelperOrder& order, curl_slist* headers, Conversation& user) {
  const auto option = [&](CURLoption key, auto value) { curl_easy_setopt(curl, key, value); };
  option(CURLOPT_URL, order.request.url.c_str());
  option(CURLOPT_PROTOCOLS_STR, "http,https");
  option(CURLOPT_HTTPHEADER, headers);
  option(CURLOPT_POSTFIELDS, order.request.body.c_str());
  option(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(order.request.body.size()));
  option(CURLOPT_HEADERFUNCTION, &on_header);
  option(CURLOPT_HEADERDATA, &user);
  option(CURLOPT_WRITEFUNCTION, &on_body);
  option(CURLOPT_WRITEDATA, &user);
  option(CURLOPT_NOSIGNAL, 1L);
  // The curl program honours it, the library does not.
  if (const char* bundle = std::getenv("SSL_CERT_FILE"); bundle != nullptr && *bundle != '\0')
    option(CURLOPT_CAINFO, bundle);
  option(CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(order.connect.count()));
}

HelperResult talk(const HelperOrder& order) {
  HelperResult result;
  Conversation conversation(order.protocol);
  const std::unique_ptr<CURL, decltype(&curl_easy_cleanup)> curl(curl_easy_init(),
                                                                 curl_easy_cleanup);
  curl_slist* headers = curl_slist_append(nullptr, "Expect:");
  for (const auto& [name, value] : order.request.headers)
    headers = curl_slist_append(headers, fmt::format("{}: {}", name, value).c_str());
  char words[CURL_ERROR_SIZE] = "";
  curl_easy_setopt(curl.get(), CURLOPT_ERRORBUFFER, words);
  prepare(curl.get(), order, headers, conversation);
  auto ending = transfer(curl.get(), conversation, order);
  ending.detail = words[0] != '\0' ? words : curl_easy_strerror(ending.code);
  curl_easy_getinfo(curl.get(), CURLINFO_RESPONSE_CODE, &ending.status);
  curl_easy_getinfo(curl.get(), CURLINFO_OS_ERRNO, &ending.os_error);
  // Seconds, whether the server said seconds or a date.
  curl_off_t retry_after = 0;
  curl_easy_getinfo(curl.get(), CURLINFO_RETRY_AFTER, &retry_after);
  result.status = ending.status;
  result.retry_after = std::chrono::seconds(retry_after);
  result.streamed = conversation.streams();
  result.first_byte = conversation.first_byte.value_or(milliseconds(0));
  judge(conversation, ending, order, result);
  result.usage = conversation.answer->usage();
  result.model = conversation.answer->model();
  result.cut_off = conversation.answer->cut_off();
  curl_slist_free_all(headers);
  return result;
}

int run() {
  system::forbid_memory_pictures();
  std::string input;
  char buffer[1 << 16];
  for (std::size_t n = 0; (n = std::fread(buffer, 1, sizeof buffer, stdin)) > 0;) {
    input.append(buffer, n);
  }
  const auto order = parse_helper_order(input);
  if (!order) {
    std::fputs("cuco-http: the order on standard input is none\n", stderr);
    return 2;
  }
  curl_global_init(CURL_GLOBAL_DEFAULT);
  const auto text = to_json(talk(*order));
  std::fwrite(text.data(), 1, text.size(), stdout);
  curl_global_cleanup();
  return 0;
}

}  // namespace
}  // namespace cuco::llm

int main() {
  return cuco::llm::run();
}
