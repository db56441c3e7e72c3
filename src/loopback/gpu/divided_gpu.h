// SPDX-License-Identifier: Apache-2.0
/// \file
/// The one GPU, divided: a green context per rank and one for the modelled network, loopback's own
/// kernels, and memory that is there before any kernel of the program spins.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "loopback/device/kernel_args.h"
#include "loopback/gpu/driver_calls.h"

namespace cuco::loopback {

struct Partition {
  CUgreenCtx green = nullptr;
  CUcontext context = nullptr;
  int sms = 0;
};

class Machine {
 public:
  /// Made on first use; ends the program where it cannot be.
  static Machine& get();

  [[nodiscard]] int ranks() const { return static_cast<int>(ranks_.size()); }
  /// Made when it is first asked for: a process of one rank needs no context of another.
  [[nodiscard]] const Partition& rank(int r);
  [[nodiscard]] bool has_made(int r) const { return has_made_[static_cast<std::size_t>(r)]; }
  /// How many of them are made.
  [[nodiscard]] int made() const { return made_; }
  [[nodiscard]] int sms_of(int r) const {
    return static_cast<int>(resources_[static_cast<std::size_t>(r)].sm.smCount);
  }
  [[nodiscard]] CUcontext primary() const { return primary_; }
  /// Not of a process that has ranks, where others play the network.
  [[nodiscard]] const Partition& network() const { return network_; }

  /// Makes the rank's context current for the calling thread.
  void enter(int rank);
  /// The rank that the calling thread last entered, 0 at first. Its context is made current if
  /// nobody's is.
  [[nodiscard]] int current_rank();

  /// Launches one of loopback's kernels in the current context. `args`: its one parameter.
  CUresult launch(CUkernel kernel, unsigned blocks, unsigned threads, CUstream stream, void* args);
  [[nodiscard]] CUkernel copy_kernel() const { return copy_; }
  [[nodiscard]] CUkernel courier_kernel() const { return courier_; }
  [[nodiscard]] CUkernel fill_kernel() const { return fill_; }
  [[nodiscard]] CUkernel points_kernel() const { return points_; }
  [[nodiscard]] CUkernel collective_kernel(int type) const {
    return collectives_[static_cast<std::size_t>(type)];
  }

  /// Zeroed memory for loopback itself. Device memory, and host memory that kernels reach.
  [[nodiscard]] Address device_bytes(std::uint64_t bytes);
  [[nodiscard]] void* host_bytes(std::uint64_t bytes);
  /// Copies to the device while kernels may spin; waits for it.
  void upload(Address destination, const void* source, std::size_t bytes);
  /// False: it did not come within a second.
  bool download(void* destination, Address source, std::size_t bytes);

  /// Gives every kernel of the program its local memory, so that no launch waits for all others.
  void grow_local_memory(std::uint64_t bytes);

  /// A stream of the network's partition.
  [[nodiscard]] CUstream network_stream();

 private:
  Machine();
  Partition make_partition(CUdevResource* resource);
  void divide();
  void load_kernels();
  void warm_up(const Partition& partition, CUstream stream);

  CUdevice device_ = 0;
  CUcontext primary_ = nullptr;
  std::vector<CUdevResource> resources_;  ///< By rank.
  std::vector<Partition> ranks_;
  std::vector<std::atomic<bool>> has_made_;
  std::atomic<int> made_{0};
  std::mutex making_;
  Partition network_;
  CUkernel copy_ = nullptr, courier_ = nullptr, fill_ = nullptr, points_ = nullptr;
  std::array<CUkernel, 12> collectives_{};
  std::array<CUkernel, 3> local_{};
  std::mutex mutex_;
  CUstream control_ = nullptr;  ///< Of the network's partition: uploads.
  struct Arena {
    std::uint64_t next = 0, end = 0;
  } device_arena_, host_arena_;
  void* staging_ = nullptr;  ///< Pinned, for uploads.
};

/// Makes a context current, and the one before again.
class ScopedContext {
 public:
  explicit ScopedContext(CUcontext context);
  ScopedContext(const ScopedContext&) = delete;
  ScopedContext& operator=(const ScopedContext&) = delete;
  ~ScopedContext();

 private:
  CUcontext before_ = nullptr;
};

/// What loopback does on its own account disturbs nothing that the calling thread captures.
class RelaxedCapture {
 public:
  RelaxedCapture() { (void)driver().cuThreadExchangeStreamCaptureMode(&mode_); }
  RelaxedCapture(const RelaxedCapture&) = delete;
  RelaxedCapture& operator=(const RelaxedCapture&) = delete;
  ~RelaxedCapture() { (void)driver().cuThreadExchangeStreamCaptureMode(&mode_); }

 private:
  CUstreamCaptureMode mode_ = CU_STREAM_CAPTURE_MODE_RELAXED;
};

/// Calls of threads that are not the program's must not disturb what it captures.
void allow_calls_while_others_capture();

}  // namespace cuco::loopback
