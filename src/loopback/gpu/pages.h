// SPDX-License-Identifier: Apache-2.0
/// \file
/// Pages of the GPU's memory and where they lie. Where ranks are processes, all of them have the
/// same pages at the same address, so that an address means the same to every process and kernel;
/// the network's process chooses it, and tells the others.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>

#include "loopback/address_space.h"
#include "loopback/gpu/driver_calls.h"

namespace cuco::loopback {

/// Other processes, who do what is done here. Called with one thing at a time.
class Audience {
 public:
  virtual ~Audience() = default;
  virtual void mapped(CUdeviceptr at, std::uint64_t bytes, CUmemGenericAllocationHandle handle) = 0;
  virtual void unmapped(CUdeviceptr at, std::uint64_t bytes) = 0;
  virtual void destroyed(CUmemGenericAllocationHandle handle) = 0;
  /// Host memory of this descriptor.
  virtual void host_mapped(void* at, std::uint64_t bytes, int descriptor) = 0;
};

class Pages {
 public:
  static Pages& get();

  /// From now on processes share what is made. Before any of it is.
  void share_with(Audience& audience);

  [[nodiscard]] CUresult create(CUmemGenericAllocationHandle* out,
                                std::uint64_t bytes,
                                bool exportable);
  void destroy(CUmemGenericAllocationHandle handle);
  [[nodiscard]] CUresult reserve(CUdeviceptr* out, std::uint64_t bytes, std::uint64_t alignment);
  void give_back(CUdeviceptr at, std::uint64_t bytes);
  /// Readable and writable by all ranks.
  [[nodiscard]] CUresult map(CUdeviceptr at,
                             std::uint64_t bytes,
                             CUmemGenericAllocationHandle handle);
  void unmap(CUdeviceptr at, std::uint64_t bytes);
  /// Zeroed memory of the host that kernels reach at the same address.
  [[nodiscard]] void* host(std::uint64_t bytes);

  /// In every process whose run has several: keeps the range of shared addresses free. Ends the
  /// program where it is not.
  static void reserve_shared();
  /// What the network's process has mapped, here too.
  [[nodiscard]] static CUresult map_here(CUdeviceptr at,
                                         std::uint64_t bytes,
                                         CUmemGenericAllocationHandle handle);
  [[nodiscard]] static CUresult map_host_here(void* at, std::uint64_t bytes, int descriptor);
  /// Whether all processes of the run have memory of this address, if there is any.
  [[nodiscard]] static bool is_shared(std::uint64_t address);

 private:
  Audience* audience_ = nullptr;
  std::mutex mutex_;  ///< Of the places.
  AddressSpace places_;
  std::uint64_t next_host_;

  Pages();
};

}  // namespace cuco::loopback
