// SPDX-License-Identifier: Apache-2.0
/// \file
/// Device communicators: the resource window, barriers, GIN contexts and the struct that a program
/// passes to its kernels.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "loopback/nccl/clique.h"
#include "loopback/nccl/gin_set.h"
#include "loopback/nccl/requests.h"
#include "loopback/nccl/windows.h"

namespace cuco::loopback {

class DevComms {
 public:
  static DevComms& get();

  struct Created {
    std::vector<DevCommAnswer> answers;  ///< By rank.
    nccl_core::Check problem;
  };
  Created create(const std::shared_ptr<Clique>& clique,
                 const std::vector<DevCommRequest>& requests);
  /// One rank lets go. False: it has no such device communicator.
  bool release(const Clique& clique, int rank, Address resource_window);
  [[nodiscard]] std::vector<std::shared_ptr<GinSet>> gin_sets();

 private:
  struct Set {
    std::shared_ptr<Clique> clique;
    Window* resources = nullptr;
    std::vector<Address> descriptions;  ///< Of the resource window, by rank.
    std::vector<CUdeviceptr> memory;    ///< By rank.
    std::shared_ptr<GinSet> gin;
    int users = 0;
  };
  nccl_core::Check make_resources(Set& set, std::uint64_t bytes);

  std::mutex mutex_;
  std::vector<std::unique_ptr<Set>> sets_;
};

}  // namespace cuco::loopback
