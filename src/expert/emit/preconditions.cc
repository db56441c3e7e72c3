// SPDX-License-Identifier: Apache-2.0
#include "expert/emit/preconditions.h"

#include <fmt/format.h>

#include "base/text.h"
#include "expert/emit/emit.h"
#include "expert/emit/fused_gather.h"

namespace cuco::expert::emit {
namespace {
using design::Backend;

constexpr std::uint64_t kMaxRanks = 64;  // of the device header

}  // namespace

std::string to_text(const Precondition& p) {
  switch (p.need) {
    case Need::SameCalls:
      return "all ranks make these calls in the same order, with the same counts";
    case Need::OneInFlight:
      return "a call has ended, in stream order, before the next one begins";
    case Need::NoWaiting:
      return "a host thread launches for all its ranks before it waits for one of them";
    case Need::Resident:
      return fmt::format("{} blocks fit on the GPU beside what else runs", p.amount);
    case Need::Ranks:
      return fmt::format("there are at most {} ranks", p.amount);
    case Need::Memory:
      return fmt::format("{} of symmetric memory for each rank of the communicator",
                         human_bytes(static_cast<double>(p.amount)));
    case Need::OneNode:
      return "all ranks reach each other by load and store";
    case Need::EqualNodes:
      return "nodes have the same number of ranks, which are consecutive";
    case Need::Network:
      return "there is a network card that GPUs can drive (GIN)";
    case Need::Multicast:
      return "there is a switch with multicast and reductions (NVLS)";
    case Need::Symmetric:
      return fmt::format("{} is allocated by all ranks with the same size and used at one offset",
                         p.subject);
    case Need::AlikeGroups:
      return "what two ranks send each other is grouped alike on both";
    case Need::Tiled:
      return fmt::format(
          "the grid of the {} is what its tiles need; each block writes its own tile", p.subject);
    case Need::ReachesEnd:
      return fmt::format("all threads of the {} reach its end", p.subject);
    case Need::OneLaunch:
      return fmt::format("each step launches the {} once, before the result is used", p.subject);
    case Need::OneReader:
      return fmt::format("only the {} reads the result before the next step", p.subject);
  }
  return {};
}

namespace {

void add_machine(Backend backend, std::vector<Precondition>& needs) {
  const auto add = [&](Need need) { needs.push_back({need, "", 0}); };
  const bool network = backend == Backend::Gin || backend == Backend::Hybrid;
  if (!network) add(Need::OneNode);
  if (backend == Backend::Hybrid) add(Need::EqualNodes);
  if (network) add(Need::Network);
  if (backend == Backend::Multimem) add(Need::Multicast);
  needs.push_back({Need::Ranks, "", kMaxRanks});
}

}  // namespace

std::vector<Precondition> preconditions_of(const Request& request,
                                           const std::vector<SharedBuffer>& buffers) {
  std::vector<Precondition> needs;
  const auto add = [&](Need need, std::uint64_t amount = 0) {
    needs.push_back({need, "", amount});
  };
  add(request.collective == Collective::Exchange ? Need::AlikeGroups : Need::SameCalls);
  add(Need::OneInFlight);
  add(Need::NoWaiting);
  add(Need::Resident, static_cast<std::uint64_t>(request.blocks));
  // Two boxes for each peer, and as many to send from where the network card reads.
  const bool network = request.backend == Backend::Gin || request.backend == Backend::Hybrid;
  add(Need::Memory,
      static_cast<std::uint64_t>(request.blocks) * request.box_bytes * (network ? 4 : 2));
  add_machine(request.backend, needs);
  for (const auto& buffer : buffers)
    needs.push_back({Need::Symmetric, buffer.pointer, 0});
  return needs;
}

std::vector<Precondition> preconditions_of(const FusedGather& request) {
  std::vector<Precondition> needs;
  const auto add = [&](Need need, std::string subject = {}) {
    needs.push_back({need, std::move(subject), 0});
  };
  for (const Need need : {Need::SameCalls, Need::OneInFlight, Need::NoWaiting})
    add(need);
  for (const Need need : {Need::Tiled, Need::ReachesEnd, Need::OneLaunch})
    add(need, "producer");
  if (request.waiting == Waiting::Consumer) add(Need::OneReader, "consumer");
  add_machine(request.backend, needs);
  add(Need::Symmetric, request.expressions.recv);
  return needs;
}

}  // namespace cuco::expert::emit
