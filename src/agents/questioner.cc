// SPDX-License-Identifier: Apache-2.0
#include "agents/questioner.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/assert.h"
#include "base/json.h"

namespace cuco::agents {
namespace {

/// What is reserved before the call: the answer's limit, and more than the prompt will be.
std::int64_t tokens_at_most(const llm::Request& request) {
  return request.max_tokens + tokens_of(request.system.size() + request.prompt.size());
}

/// As it will be read from the log and from recordings, which hold UTF-8 alone: what is done with
/// an answer must not depend on where it comes from.
std::string as_stored(std::string answer) {
  const auto stored = parse_json(to_text(Json(std::move(answer))));
  CUCO_ASSERT(stored && stored->is_string());
  return stored->get<std::string>();
}

}  // namespace

std::string Questioner::name() const {
  return fmt::format("{}:{}", provider_.name(), provider_.model());
}

llm::Request Questioner::request_for(const Role& role, const candidate::Task& task) const {
  Prompt prompt = make_prompt(role, problem_, task);
  llm::Request request{.system = std::move(prompt.system), .prompt = std::move(prompt.text)};
  request.shared_prefix = prompt.shared_prefix;
  request.max_tokens = call_.max_tokens;
  if (call_.effort) request.effort = call_.effort(role.name);
  request.schema = schema_of(role.form);
  request.seed = task.seed;
  request.deadline = call_.deadline;
  request.site.run = call_.run;
  request.site.decision = static_cast<int>(task.seed - call_.run_seed);
  request.site.role = std::string(role.name);
  request.stopped = call_.stopped;
  return request;
}

Result<std::string> Questioner::ask(const Role& role,
                                    const candidate::Task& task,
                                    candidate::ExchangeLog& log) const {
  const llm::Request request = request_for(role, task);
  const std::int64_t most_tokens = tokens_at_most(request);
  const candidate::Question question{
      .provider = provider_.name(),
      .model = provider_.model(),
      .role = request.site.role,
      .system = request.system,
      .prompt = request.prompt,
      .seed = request.seed,
      .most_tokens = most_tokens,
      .most_dollars = call_.dollars_per_token * static_cast<double>(most_tokens)};
  CUCO_TRY_ASSIGN(candidate::Exchange exchange,
                  log.ask(question, [&]() -> Result<candidate::Exchange> {
                    CUCO_TRY_ASSIGN(llm::Reply reply, provider_.complete(request));
                    return candidate::Exchange{.answer = as_stored(std::move(reply.text)),
                                               .prompt_tokens = reply.usage.prompt,
                                               .answer_tokens = reply.usage.answer,
                                               .cached_tokens = reply.usage.cached,
                                               .reasoning_tokens = reply.usage.reasoning,
                                               .lost_tokens = reply.lost.prompt + reply.lost.answer,
                                               .dollars = reply.dollars,
                                               .answered_by = reply.answered_by,
                                               .seconds = reply.seconds};
                  }));
  return std::move(exchange.answer);
}

}  // namespace cuco::agents
