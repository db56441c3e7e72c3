// SPDX-License-Identifier: Apache-2.0
#include "llm/endpoint_provider.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "llm/chat.h"
#include "system/jobs/process.h"
#include "system/os/environment.h"

namespace cuco::llm {
namespace {
using std::chrono::milliseconds;

constexpr auto kIdle = milliseconds(60'000);  // without a byte: the server is gone
constexpr auto kConnect = milliseconds(10'000);
constexpr auto kGrace = milliseconds(2'000);  // for the helper to report its own deadline
constexpr std::size_t kMaxAnswer = std::size_t{16} << 20U;

/// Worth a retry: rate limits, overload, lost connections (status 0).
bool is_transient(int status) {
  return status == 0 || status == 408 || status == 409 || status == 429 || status >= 500;
}

}  // namespace

/// One attempt: a reply, or why there is none and when to retry.
struct EndpointProvider::Attempt {
  std::optional<Reply> reply;
  std::string problem;
  bool transient = false;
  bool timed_out = false;
  milliseconds retry_after{0};
};

/// Servers echo headers in their errors, and errors are stored: the key must not travel with them.
std::string EndpointProvider::redacted(std::string text) const {
  constexpr std::size_t kShortestKey = 4;
  if (endpoint_.key.size() < kShortestKey) return text;
  for (auto at = text.find(endpoint_.key); at != std::string::npos; at = text.find(endpoint_.key)) {
    text.replace(at, endpoint_.key.size(), "[key]");
  }
  return text;
}

Result<EndpointProvider::Attempt> EndpointProvider::attempt(const Request& request,
                                                            milliseconds deadline) const {
  CUCO_TRY_ASSIGN(const system::Path helper, system::find_helper("cuco-http"));
  const Json order{{"url", endpoint_.url + "/chat/completions"},
                   {"key", endpoint_.key},
                   {"body", chat_body(request, endpoint_.model)},
                   {"connect_ms", kConnect.count()},
                   {"idle_ms", kIdle.count()},
                   {"deadline_ms", deadline.count()}};
  system::JobSpec job;
  job.command.argv = {helper.string()};
  constexpr std::string_view kProxies[] = {"HTTPS_PROXY",  "https_proxy", "HTTP_PROXY",
                                           "http_proxy",   "NO_PROXY",    "no_proxy",
                                           "SSL_CERT_FILE"};
  // Nothing but the proxy settings: the helper gets its key on standard input.
  job.command.environment = system::Environment::current().only(kProxies);
  job.command.input = to_text(order);
  job.limits.wall = deadline + kGrace;
  job.limits.output = kMaxAnswer;
  CUCO_TRY_ASSIGN(const system::JobOutcome outcome, system::run_job(job));
  Attempt attempt;
  if (outcome.ending == system::Ending::TimedOut) {
    attempt.timed_out = true;
    return attempt;
  }
  if (!outcome.succeeded()) {
    return Error{ErrorKind::Protocol, fmt::format("cuco-http: {}: {}", system::describe(outcome),
                                                  redacted(outcome.err))};
  }
  CUCO_TRY_ASSIGN(const Json json, parse_json(outcome.out));
  attempt.problem = redacted(json.value("problem", ""));
  attempt.timed_out = json.value("timed_out", false);
  attempt.retry_after = milliseconds(json.value("retry_after_ms", 0));
  attempt.transient = is_transient(json.value("status", 0)) || json.value("broken_off", false);
  if (attempt.problem.empty()) {
    attempt.reply = Reply{.text = redacted(json.value("text", "")),
                          .prompt_tokens = json.value("prompt_tokens", 0),
                          .answer_tokens = json.value("answer_tokens", 0)};
  }
  return attempt;
}

Result<Reply> EndpointProvider::complete(const Request& request) {
  const auto start = clock_.now();
  auto pause = policy_.first_pause;
  std::string problem;
  for (int i = 0; i < policy_.attempts; ++i) {
    const auto left =
        std::chrono::duration_cast<milliseconds>(request.deadline - (clock_.now() - start));
    if (left <= milliseconds(0)) break;
    CUCO_TRY_ASSIGN(Attempt tried, attempt(request, left));
    if (tried.reply) {
      tried.reply->seconds = std::chrono::duration<double>(clock_.now() - start).count();
      return *std::move(tried.reply);
    }
    problem = tried.problem;
    if (tried.timed_out) break;
    if (!tried.transient) {
      return Error{ErrorKind::Protocol, fmt::format("{}: {}", endpoint_.model, problem)};
    }
    // A server that names a time knows better than our back-off.
    const auto wait = std::max(pause, tried.retry_after);
    const auto spent = clock_.now() - start + wait;
    // A pause that ends after the deadline helps nobody.
    if (i + 1 == policy_.attempts || spent >= request.deadline) {
      return Error{ErrorKind::Unavailable,
                   fmt::format("{}: {} (tried {} times)", endpoint_.model, problem, i + 1)};
    }
    clock_.sleep(wait);
    pause = std::min(pause * 2, policy_.longest_pause);
  }
  return Error{ErrorKind::Timeout,
               fmt::format("{}: no answer within {} s{}{}", endpoint_.model,
                           request.deadline.count(), problem.empty() ? "" : ": ", problem)};
}

}  // namespace cuco::llm
