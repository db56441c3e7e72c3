// SPDX-License-Identifier: Apache-2.0
#include "llm/http/endpoint_provider.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "llm/http/helper_result.h"
#include "llm/stoppable_job.h"
#include "system/os/environment.h"

namespace cuco::llm {
namespace {
using std::chrono::milliseconds;

constexpr auto kGrace = milliseconds(2'000);  // for the helper to report its own deadline
constexpr std::size_t kMostOutput = 4 * kMostAnswer;

void add(Usage& sum, const Usage& more) {
  sum.prompt += more.prompt;
  sum.answer += more.answer;
  sum.cached += more.cached;
  sum.cache_written += more.cache_written;
  sum.reasoning += more.reasoning;
}

/// Services answer with a dated name of the same model: "gpt-4o-2024-08-06" for "gpt-4o".
bool is_same_model(std::string_view asked, std::string_view answered) {
  if (answered.empty()) return true;
  const auto last = [](std::string_view name) { return name.substr(name.rfind('/') + 1); };
  return last(answered).starts_with(last(asked)) || last(asked).starts_with(last(answered));
}

}  // namespace

struct EndpointProvider::Attempt {
  HelperResult result;
};

struct EndpointProvider::Progress {
  Nanoseconds start{0};
  int attempts = 0;
  std::string problem;
  Trouble trouble = Trouble::None;
  Usage lost;
};

EndpointProvider::EndpointProvider(Endpoint endpoint, RetryPolicy policy, Clock& clock)
    : endpoint_(std::move(endpoint)),
      policy_(policy),
      clock_(clock),
      scrub_(endpoint_.credentials) {}

Result<EndpointProvider::Attempt> EndpointProvider::attempt(const Request& request,
                                                            milliseconds deadline) const {
  CUCO_TRY_ASSIGN(const system::Path helper, system::find_helper("cuco-http"));
  HelperOrder order;
  order.protocol = endpoint_.service.protocol;
  CUCO_TRY_ASSIGN(order.request, http_request(endpoint_, request, clock_.wall()));
  order.silence = endpoint_.facts.silence;
  order.deadline = deadline;
  system::JobSpec job;
  job.command.argv = {helper.string()};
  constexpr std::string_view kProxies[] = {"HTTPS_PROXY",  "https_proxy", "HTTP_PROXY",
                                           "http_proxy",   "NO_PROXY",    "no_proxy",
                                           "SSL_CERT_FILE"};
  // Nothing but the proxy settings: the helper gets its key on standard input.
  job.command.environment = system::Environment::current().only(kProxies);
  job.command.input = to_json(order);
  job.limits.wall = deadline + kGrace;
  job.limits.output = kMostOutput;
  CUCO_TRY_ASSIGN(const system::JobOutcome outcome, run_stoppable(job, request.stopped));
  if (outcome.ending == system::Ending::TimedOut) {
    return Attempt{{.trouble = Trouble::Late, .problem = "the deadline passed"}};
  }
  if (!outcome.succeeded()) {
    return Error{ErrorKind::Protocol,
                 fmt::format("cuco-http: {}: {}", system::describe(outcome), scrub_(outcome.err))};
  }
  CUCO_TRY_ASSIGN(HelperResult result, parse_helper_result(outcome.out));
  // A service may repeat what it was sent, in its errors and in its answers.
  result.problem = scrub_(std::move(result.problem));
  result.text = scrub_(std::move(result.text));
  return Attempt{std::move(result)};
}

Reply EndpointProvider::finished(Attempt attempt, const Progress& progress) const {
  HelperResult& result = attempt.result;
  Reply reply{.text = std::move(result.text), .usage = result.usage};
  reply.seconds = std::chrono::duration<double>(clock_.now() - progress.start).count();
  reply.first_byte_seconds = std::chrono::duration<double>(result.first_byte).count();
  if (!is_same_model(endpoint_.model, result.model))
    reply.answered_by = fmt::format("{}:{}", name(), result.model);
  reply.streamed = result.streamed;
  reply.cut_off = result.cut_off;
  reply.attempts = progress.attempts;
  reply.lost = progress.lost;
  if (const auto& prices = endpoint_.facts.prices)
    reply.dollars = dollars_of(reply.usage, *prices) + dollars_of(reply.lost, *prices);
  return reply;
}

Error EndpointProvider::gave_up(const Progress& progress, const Request& request) const {
  const auto who = fmt::format("{}:{}", name(), model());
  const auto problem = progress.problem.empty() ? "" : ": " + progress.problem;
  switch (progress.trouble) {
    case Trouble::None:
    case Trouble::Late:
      return {ErrorKind::Timeout,
              fmt::format("{}: no answer within {} s{}", who, request.deadline.count(), problem)};
    case Trouble::Refused:
      return {ErrorKind::Protocol, who + problem};
    case Trouble::Malformed:
      return {ErrorKind::Protocol,
              fmt::format("{}{} (asked {} times)", who, problem, progress.attempts)};
    case Trouble::Busy:
    case Trouble::Broken:
      break;
  }
  return {ErrorKind::Unavailable,
          fmt::format("{}{} (asked {} times)", who, problem, progress.attempts)};
}

Result<Reply> EndpointProvider::complete(const Request& request) {
  Progress progress{.start = clock_.now()};
  Backoff backoff(policy_, request.seed);
  while (progress.attempts < policy_.attempts) {
    const auto left = std::chrono::duration_cast<milliseconds>(request.deadline -
                                                               (clock_.now() - progress.start));
    if (left <= milliseconds(0)) break;
    ++progress.attempts;
    CUCO_TRY_ASSIGN(Attempt tried, attempt(request, left));
    const HelperResult& result = tried.result;
    if (result.trouble == Trouble::None) return finished(std::move(tried), progress);
    add(progress.lost, result.usage);
    progress.trouble = result.trouble;
    progress.problem = result.problem;
    if (result.trouble == Trouble::Refused || result.trouble == Trouble::Late) break;
    if (progress.attempts == policy_.attempts) break;
    const auto pause = backoff.next(result.retry_after);
    // A pause that ends after the deadline helps nobody.
    if (clock_.now() - progress.start + pause >= request.deadline) {
      if (result.retry_after.count() > 0) {
        progress.problem +=
            fmt::format("; it asks to wait {} s", (result.retry_after.count() + 999) / 1000);
      }
      break;
    }
    CUCO_TRY(sleep_stoppable(clock_, pause, request.stopped));
  }
  return gave_up(progress, request);
}

}  // namespace cuco::llm
