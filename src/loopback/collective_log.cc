// SPDX-License-Identifier: Apache-2.0
#include "loopback/collective_log.h"

#include "loopback/meeting.h"

namespace cuco::loopback {

using nccl_core::Call;
using nccl_core::Check;
using nccl_core::Code;
using nccl_core::Kind;
using nccl_core::Problem;

Check CollectiveLog::add(int rank, const Call& call) {
  if (nccl_core::is_point_to_point(call.kind)) return add_point(rank, call);
  const std::uint64_t number = next_[static_cast<std::size_t>(rank)]++;
  const auto [found, is_first] = open_.try_emplace(number);
  Round& round = found->second;
  if (is_first) {
    round.first = call;
    round.first_rank = rank;
    round.present.resize(static_cast<std::size_t>(ranks_));
  } else if (Check wrong = nccl_core::check_agreement(call, rank, round.first, round.first_rank)) {
    return wrong;
  }
  round.present[static_cast<std::size_t>(rank)] = true;
  if (++round.count == ranks_) open_.erase(found);
  return std::nullopt;
}

Check CollectiveLog::add_point(int rank, const Call& call) {
  const bool sends = call.kind == Kind::Send;
  const std::pair<int, int> pair = sends ? std::pair(rank, call.root) : std::pair(call.root, rank);
  std::vector<Call>& waiting = unmatched_[pair];
  if (waiting.empty() || waiting.front().kind == call.kind) {
    waiting.push_back(call);
    return std::nullopt;
  }
  const Call other = waiting.front();
  waiting.erase(waiting.begin());
  const std::uint64_t mine = call.count * nccl_core::size_of(call.type);
  const std::uint64_t theirs = other.count * nccl_core::size_of(other.type);
  if (mine == theirs) return std::nullopt;
  return Problem{Code::InvalidUsage, "mismatched sizes: rank " + std::to_string(rank) + " calls " +
                                         nccl_core::describe(call) + ", rank " +
                                         std::to_string(call.root) + " calls " +
                                         nccl_core::describe(other)};
}

std::vector<std::string> CollectiveLog::missing() const {
  std::vector<std::string> lines;
  for (const auto& [number, round] : open_) {
    std::vector<int> here;
    std::vector<int> absent;
    for (int rank = 0; rank < ranks_; ++rank)
      (round.present[static_cast<std::size_t>(rank)] ? here : absent).push_back(rank);
    lines.push_back(nccl_core::describe(round.first) + " (number " + std::to_string(number) +
                    "): called by " + list_ranks(here) + ", never by " + list_ranks(absent));
  }
  for (const auto& [pair, waiting] : unmatched_) {
    if (waiting.empty()) continue;
    const bool sends = waiting.front().kind == Kind::Send;
    const int caller = sends ? pair.first : pair.second;
    const int partner = sends ? pair.second : pair.first;
    lines.push_back(nccl_core::describe(waiting.front()) + " of rank " + std::to_string(caller) +
                    ": rank " + std::to_string(partner) + " never called the matching " +
                    (sends ? "ncclRecv" : "ncclSend"));
  }
  return lines;
}

}  // namespace cuco::loopback
