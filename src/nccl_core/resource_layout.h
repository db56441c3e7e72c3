// SPDX-License-Identifier: Apache-2.0
/// \file
/// How ncclDevCommCreate divides the resource window, GIN signals and GIN counters among the
/// barriers and the caller's own requirements (NCCL 2.28.9's rule, without its bug: signals and
/// counters of the caller's nodes are honoured).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace cuco::nccl_core {

/// One consumer of the resource window.
struct ResourceNeed {
  std::uint64_t bytes = 0;
  std::uint64_t align = 0;
  std::uint32_t signals = 0;
  std::uint32_t counters = 0;
};

/// What it got: a handle counts units of 128 bytes.
struct ResourceGrant {
  std::uint32_t handle = 0;
  std::uint32_t first_signal = 0;
  std::uint32_t first_counter = 0;
};

struct ResourceLayout {
  std::vector<ResourceGrant> grants;  ///< In the order of the needs.
  std::uint32_t signals = 0;
  std::uint32_t counters = 0;
  std::uint64_t shadow_offset = 0;  ///< Signal shadows: [context][signal], 8 bytes each.
  std::uint64_t bytes = 0;          ///< The whole window, not rounded to pages.
};

/// Lays out `needs` after the caller's own `user_signals` and `user_counters`, ids 0, 1, ...
[[nodiscard]] ResourceLayout lay_out_resources(std::span<const ResourceNeed> needs,
                                               std::uint32_t user_signals,
                                               std::uint32_t user_counters,
                                               int gin_contexts);

/// Epochs of both kinds, multicast inbox, one unicast inbox per peer.
[[nodiscard]] ResourceNeed lsa_barrier_need(int barriers, int team_ranks);
/// An epoch per barrier and context, a signal per barrier.
[[nodiscard]] ResourceNeed gin_barrier_need(int barriers);
/// A line for the epoch and two buffers of slots per block.
[[nodiscard]] ResourceNeed lla2a_need(int blocks, int slots);
[[nodiscard]] int lla2a_slots(int max_elements, int max_element_bytes);

/// The ranks of one load/store team: the largest equal blocks of consecutive ranks that each lie in
/// one domain. `domains[r]` is the domain of rank r.
[[nodiscard]] int lsa_team_size(std::span<const int> domains);

}  // namespace cuco::nccl_core
