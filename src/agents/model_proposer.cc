// SPDX-License-Identifier: Apache-2.0
#include "agents/model_proposer.h"

#include <fmt/format.h>

#include "agents/answer_text.h"
#include "agents/reply.h"
#include "base/text.h"

namespace cuco::agents {
namespace {

using candidate::ProposalRejected;

constexpr std::size_t kShown = 600;
constexpr std::size_t kLongestReason = 1000;  ///< It may quote the answer.

Error unusable(std::string reason) {
  return {ErrorKind::InvalidInput, std::move(reason)};
}

}  // namespace

Result<candidate::Proposal> ModelProposer::read(const std::string& answer,
                                                const candidate::Task& task) const {
  const Problem& problem = questioner_.problem();
  CUCO_TRY_ASSIGN(const ParsedReply reply, parse_reply(answer, problem.program.has_collective));
  const auto reasons =
      design::violations(reply.directive, problem.program, problem.topology, problem.nccl);
  if (!reasons.empty()) {
    return unusable(fmt::format("the directive '{}' is not valid here: {}",
                                design::to_text(reply.directive), join(reasons, "; ")));
  }
  const auto& parent = task.history[task.parent].candidate;
  const auto seed = task.history.seed().candidate.source.find(file_);
  const auto base = parent.source.find(file_);
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
  // What was expected is there to be compared with what comes.
  if (task.plan && task.plan->expected_gain > 1)
    proposal.lineage.because += fmt::format(" (planned gain {:.2f}x)", task.plan->expected_gain);
  return proposal;
}

Result<std::optional<candidate::ProposerAnswer>> ModelProposer::propose(
    const candidate::Task& task, candidate::ExchangeLog& log) {
  const auto answer = questioner_.ask(role_for(task), task, log);
  if (!answer) {
    const auto kind = answer.error().kind();
    if (kind != ErrorKind::Protocol && kind != ErrorKind::Timeout) return answer.error();
    return std::optional(candidate::ProposerAnswer(
        ProposalRejected{"the proposer failed: " + answer.error().message(), ""}));
  }
  auto proposal = read(*answer, task);
  if (proposal) return std::optional(candidate::ProposerAnswer(*std::move(proposal)));
  return std::optional(candidate::ProposerAnswer(ProposalRejected{
      shortened(proposal.error().message(), kLongestReason), shortened(*answer, kShown)}));
}

}  // namespace cuco::agents
