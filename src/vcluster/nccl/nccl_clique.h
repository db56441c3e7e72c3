// SPDX-License-Identifier: Apache-2.0
/// \file
/// A communicator as the server sees it: the ranks, their devices, and what went wrong.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "fabric/topology.h"
#include "nccl_core/types.h"
#include "shims/wire/messages_nccl.h"

namespace cuco::vcluster {

/// One rank of a communicator.
struct CliqueMember {
  int device = 0;             ///< In the cluster's numbering.
  std::uint32_t process = 0;  ///< The process that made it.
  bool finalized = false;
  bool destroyed = false;
  std::uint64_t next_setup = 0;  ///< Number of its next collective set-up call.
};

/// A communicator. Handles given to programs name a clique and a rank in it.
struct Clique {
  std::uint64_t number = 0;
  std::vector<CliqueMember> members;
  int lsa_size = 1;  ///< Load/store teams are consecutive ranks: [0, s), [s, 2s), ...
  /// The first asynchronous error; it stays.
  nccl_core::Problem broken;

  [[nodiscard]] int ranks() const { return static_cast<int>(members.size()); }
  [[nodiscard]] int device_of(int rank) const {
    return members[static_cast<std::size_t>(rank)].device;
  }
  [[nodiscard]] int team_start(int rank) const { return rank - rank % lsa_size; }
  [[nodiscard]] std::vector<int> devices() const;
  [[nodiscard]] bool is_broken() const { return broken.code != nccl_core::Code::Success; }
  /// "communicator 3".
  [[nodiscard]] std::string name() const { return "communicator " + std::to_string(number); }
};

/// A rank's place, as a handle resolves to it.
struct CliqueRank {
  Clique* clique = nullptr;
  int rank = 0;

  [[nodiscard]] CliqueMember& member() const {
    return clique->members[static_cast<std::size_t>(rank)];
  }
};

/// All communicators of the cluster.
class CliqueRegistry {
 public:
  explicit CliqueRegistry(const fabric::Topology& topology) : topology_(topology) {}

  /// Makes a communicator of these ranks. Two ranks on one device are refused, as NCCL does.
  struct Made {
    Clique* clique = nullptr;
    nccl_core::Check problem;
  };
  Made make(std::vector<CliqueMember> members);

  /// Resolves a handle that a process sent; nullopt if it is not one of that process.
  [[nodiscard]] std::optional<CliqueRank> find(std::uint64_t handle, std::uint32_t process);

  [[nodiscard]] static wire::NcclCommInfo info(const Clique& clique, int rank);
  [[nodiscard]] const std::map<std::uint64_t, std::unique_ptr<Clique>>& all() const {
    return cliques_;
  }

 private:
  const fabric::Topology& topology_;
  std::map<std::uint64_t, std::unique_ptr<Clique>> cliques_;
  std::uint64_t next_number_ = 1;
};

}  // namespace cuco::vcluster
