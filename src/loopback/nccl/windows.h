// SPDX-License-Identifier: Apache-2.0
/// \file
/// Symmetric windows: every rank's pages mapped 4 GiB (or a multiple) behind those of the rank
/// before, which is how kernels find each other's memory, and the descriptions that they read.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "loopback/gpu/rank_memory.h"
#include "loopback/nccl/clique.h"
#include "loopback/nccl/requests.h"
#include "loopback/window_places.h"
#include "nccl_core/abi_2_28.h"

namespace cuco::loopback {

struct Window {
  std::uint32_t number = 0;  ///< What GIN descriptors call it.
  std::shared_ptr<Clique> clique;
  std::uint64_t bytes = 0;
  std::vector<CUdeviceptr> addresses;                 ///< By rank: in the flat space.
  std::vector<CUdeviceptr> registered;                ///< By rank: what the program registered.
  std::vector<Address> descriptions;                  ///< By rank: ncclWindow_vidmem.
  std::vector<nccl_core::abi_2_28::Window> contents;  ///< By rank: what lies there.
  CUdeviceptr flat = 0;
  std::uint64_t stride = 0, mapped = 0;
  int users = 0;  ///< Ranks that have not deregistered it.

  [[nodiscard]] WindowPlaces places() const {
    return {.ranks = clique->ranks(), .team = clique->lsa_size, .stride = stride};
  }
};

class Windows {
 public:
  static Windows& get();

  /// Registers one range per rank.
  struct Registered {
    Window* window = nullptr;
    nccl_core::Check problem;
  };
  Registered add(const std::shared_ptr<Clique>& clique, const std::vector<WindowRequest>& requests);
  /// One rank lets go; the last one unmaps it. False: no such window.
  bool release(const Clique& clique, int rank, Address description);
  /// Of a descriptor; null: none.
  [[nodiscard]] Window* find(std::uint64_t number);
  /// What ncclFindWindow walks.
  [[nodiscard]] Address table(const Clique& clique, int rank);

 private:
  nccl_core::Check check(const Clique& clique, const std::vector<WindowRequest>& requests);
  nccl_core::Check map(Window& window, const std::vector<WindowRequest>& requests);
  void describe(Window& window);
  void refresh_table(const Clique& clique, int rank);

  static constexpr std::size_t kMost = 1U << 16U;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Window>> windows_;
  std::array<std::atomic<Window*>, kMost> by_number_{};
  std::uint32_t last_ = 0;
  std::map<std::pair<std::uint64_t, int>, std::vector<Address>> tables_;
};

}  // namespace cuco::loopback
