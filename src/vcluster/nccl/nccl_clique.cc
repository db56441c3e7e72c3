// SPDX-License-Identifier: Apache-2.0
#include "vcluster/nccl/nccl_clique.h"

#include <utility>

#include <fmt/format.h>

#include "nccl_core/resource_layout.h"

namespace cuco::vcluster {

using nccl_core::Code;
using nccl_core::Problem;

namespace {

constexpr unsigned kRankBits = 16;

}  // namespace

std::vector<int> Clique::devices() const {
  std::vector<int> result;
  for (const CliqueMember& member : members)
    result.push_back(member.device);
  return result;
}

CliqueRegistry::Made CliqueRegistry::make(std::vector<CliqueMember> members) {
  std::map<int, std::size_t> rank_of;
  std::vector<int> domains;
  for (std::size_t rank = 0; rank < members.size(); ++rank) {
    const int device = members[rank].device;
    const auto [known, fresh] = rank_of.emplace(device, rank);
    if (!fresh) {
      return {nullptr,
              Problem{Code::InvalidUsage,
                      fmt::format("duplicate GPU detected: rank {} and rank {} both use device {}; "
                                  "call cudaSetDevice with a different device in each rank",
                                  known->second, rank, device)}};
    }
    domains.push_back(device / topology_.domain_size());
  }
  auto clique = std::make_unique<Clique>();
  clique->number = next_number_++;
  clique->members = std::move(members);
  clique->lsa_size = nccl_core::lsa_team_size(domains);
  Clique* made = clique.get();
  cliques_[made->number] = std::move(clique);
  return {made, std::nullopt};
}

std::optional<CliqueRank> CliqueRegistry::find(std::uint64_t handle, std::uint32_t process) {
  const auto found = cliques_.find(handle >> kRankBits);
  const std::uint64_t rank = handle & ((1U << kRankBits) - 1U);
  if (found == cliques_.end() || rank >= found->second->members.size()) return std::nullopt;
  const CliqueMember& member = found->second->members[rank];
  if (member.process != process || member.destroyed) return std::nullopt;
  return CliqueRank{found->second.get(), static_cast<int>(rank)};
}

wire::NcclCommInfo CliqueRegistry::info(const Clique& clique, int rank) {
  return {.comm = clique.number << kRankBits | static_cast<std::uint64_t>(rank),
          .rank = rank,
          .ranks = clique.ranks(),
          .lsa_rank = rank % clique.lsa_size,
          .lsa_size = clique.lsa_size};
}

}  // namespace cuco::vcluster
