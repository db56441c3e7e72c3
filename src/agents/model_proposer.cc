// SPDX-License-Identifier: Apache-2.0
#include "agents/model_proposer.h"

#include <algorithm>

#include <fmt/format.h>

#include "agents/reply.h"
#include "base/text.h"

namespace cuco::agents {
namespace {

using candidate::ProposalRejected;

constexpr std::size_t kShown = 600;

Error unusable(std::string reason) {
  return {ErrorKind::InvalidInput, std::move(reason)};
}

}  // namespace

std::string ModelProposer::name() const {
  return fmt::format("{}:{}", provider_.name(), provider_.model());
}

Result<candidate::Proposal> ModelProposer::read(const std::string& answer,
                                                const candidate::SearchView& view) const {
  CUCO_TRY_ASSIGN(const ParsedReply reply, parse_reply(answer));
  const auto reasons =
      design::violations(reply.directive, problem_.program, problem_.topology, problem_.nccl);
  if (!reasons.empty()) {
    return unusable(fmt::format("the directive '{}' is not valid here: {}",
                                design::to_text(reply.directive), join(reasons, "; ")));
  }
  const auto& parent = view.history[static_cast<std::size_t>(view.parent)].candidate;
  const auto* seed = view.history.front().candidate.source.find(file_);
  const auto* base = parent.source.find(file_);
  if (seed == nullptr) return unusable("the seed has no file " + file_);
  // A rejected parent has no source; the seed stands in for it.
  CUCO_TRY_ASSIGN(std::string text,
                  apply_reply(reply, base == nullptr ? seed->text : base->text, seed->text));
  candidate::Proposal proposal{.source = program::single_file(file_, std::move(text)),
                               .directive = reply.directive};
  proposal.lineage.proposer = name();
  proposal.lineage.island = std::string(design::name(reply.directive.backend));
  proposal.lineage.parent = view.parent;
  proposal.lineage.because = reply.because;
  return proposal;
}

Result<std::optional<candidate::ProposerAnswer>> ModelProposer::propose(
    const candidate::SearchView& view) {
  const llm::Request request{.system = system_prompt(),
                             .prompt = proposal_prompt(problem_, view),
                             .seed = view.seed,
                             .deadline = deadline_};
  candidate::ProposerAnswer answer;
  // A run that is resumed asks nothing twice that it has an answer to.
  const auto paid =
      std::find_if(view.paid.begin(), view.paid.end(), [&](const candidate::Exchange& exchange) {
        return exchange.prompt == request.prompt && exchange.model == provider_.model();
      });
  if (paid != view.paid.end()) {
    answer.exchanges.push_back(*paid);
  } else {
    auto reply = provider_.complete(request);
    if (!reply) {
      const auto kind = reply.error().kind();
      // A bad or late answer costs one candidate; a missing key or network ends the search.
      if (kind != ErrorKind::Protocol && kind != ErrorKind::Timeout) return reply.error();
      answer.proposal = ProposalRejected{"the proposer failed: " + reply.error().message(), ""};
      return std::optional(std::move(answer));
    }
    answer.exchanges.push_back({.provider = provider_.name(),
                                .model = provider_.model(),
                                .prompt = request.prompt,
                                .answer = std::move(reply->text),
                                .prompt_tokens = reply->prompt_tokens,
                                .answer_tokens = reply->answer_tokens,
                                .seconds = reply->seconds});
  }
  const auto& text = answer.exchanges.front().answer;
  auto proposal = read(text, view);
  if (proposal) {
    answer.proposal = *std::move(proposal);
  } else {
    answer.proposal = ProposalRejected{proposal.error().message(), text.substr(0, kShown)};
  }
  return std::optional(std::move(answer));
}

}  // namespace cuco::agents
