// SPDX-License-Identifier: Apache-2.0
#include "agents/model_proposer.h"

#include <fmt/format.h>

#include "agents/reply.h"
#include "base/text.h"

namespace cuco::agents {
namespace {

using candidate::ProposalRejected;

constexpr std::size_t kShown = 600;
constexpr std::size_t kBytesPerToken = 3;  // of code; prose has more

/// What is reserved before the call: the answer's limit, and more than the prompt will be.
std::int64_t tokens_at_most(const llm::Request& request) {
  const auto bytes = request.system.size() + request.prompt.size();
  return request.max_tokens + static_cast<std::int64_t>(bytes / kBytesPerToken);
}

Error unusable(std::string reason) {
  return {ErrorKind::InvalidInput, std::move(reason)};
}

}  // namespace

std::string ModelProposer::name() const {
  return fmt::format("{}:{}", provider_.name(), provider_.model());
}

Result<candidate::Proposal> ModelProposer::read(const std::string& answer,
                                                const candidate::Task& task) const {
  CUCO_TRY_ASSIGN(const ParsedReply reply, parse_reply(answer));
  const auto reasons =
      design::violations(reply.directive, problem_.program, problem_.topology, problem_.nccl);
  if (!reasons.empty()) {
    return unusable(fmt::format("the directive '{}' is not valid here: {}",
                                design::to_text(reply.directive), join(reasons, "; ")));
  }
  const auto& parent = task.history[task.parent].candidate;
  const auto* seed = task.history.seed().candidate.source.find(file_);
  const auto* base = parent.source.find(file_);
  if (seed == nullptr) return unusable("the seed has no file " + file_);
  // A rejected parent has no source; the seed stands in for it.
  CUCO_TRY_ASSIGN(std::string text,
                  apply_reply(reply, base == nullptr ? seed->text : base->text, seed->text));
  candidate::Proposal proposal{.source = program::single_file(file_, std::move(text)),
                               .directive = reply.directive};
  proposal.lineage.proposer = name();
  proposal.lineage.island = std::string(design::name(reply.directive.backend));
  proposal.lineage.parent = task.parent;
  proposal.lineage.because = reply.because;
  return proposal;
}

llm::Request ModelProposer::request_for(const candidate::Task& task) const {
  llm::Request request{.system = system_prompt(), .prompt = proposal_prompt(problem_, task)};
  request.shared_prefix = shared_prefix(problem_);
  request.max_tokens = call_.max_tokens;
  request.effort = call_.effort;
  request.seed = task.seed;
  request.deadline = call_.deadline;
  request.site.decision = static_cast<int>(task.seed - call_.run_seed);
  request.site.role = "propose";
  request.stopped = call_.stopped;
  return request;
}

Result<std::optional<candidate::ProposerAnswer>> ModelProposer::propose(
    const candidate::Task& task, candidate::ExchangeLog& log) {
  const llm::Request request = request_for(task);
  const candidate::Question question{.provider = provider_.name(),
                                     .model = provider_.model(),
                                     .role = request.site.role,
                                     .system = request.system,
                                     .prompt = request.prompt,
                                     .seed = request.seed,
                                     .most_tokens = tokens_at_most(request)};
  const auto exchange = log.ask(question, [&]() -> Result<candidate::Exchange> {
    CUCO_TRY_ASSIGN(llm::Reply reply, provider_.complete(request));
    return candidate::Exchange{.answer = std::move(reply.text),
                               .prompt_tokens = reply.usage.prompt,
                               .answer_tokens = reply.usage.answer,
                               .cached_tokens = reply.usage.cached,
                               .reasoning_tokens = reply.usage.reasoning,
                               .lost_tokens = reply.lost.prompt + reply.lost.answer,
                               .dollars = reply.dollars,
                               .answered_by = reply.answered_by,
                               .seconds = reply.seconds};
  });
  if (!exchange) {
    const auto kind = exchange.error().kind();
    if (kind != ErrorKind::Protocol && kind != ErrorKind::Timeout) return exchange.error();
    return std::optional(candidate::ProposerAnswer(
        ProposalRejected{"the proposer failed: " + exchange.error().message(), ""}));
  }
  auto proposal = read(exchange->answer, task);
  if (proposal) return std::optional(candidate::ProposerAnswer(*std::move(proposal)));
  return std::optional(candidate::ProposerAnswer(
      ProposalRejected{proposal.error().message(), exchange->answer.substr(0, kShown)}));
}

}  // namespace cuco::agents
