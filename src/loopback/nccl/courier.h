// SPDX-License-Identifier: Apache-2.0
/// \file
/// What brings payloads and signals to their places on the GPU. Small deliveries go through a
/// kernel that stays on the network's multiprocessors while there is traffic and reads them from
/// host memory, which takes a fraction of a launch; large payloads are copied by kernels of their
/// own. Used by the network's thread alone.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "loopback/device/parcel.h"
#include "loopback/device_clock.h"
#include "loopback/gpu/driver_calls.h"
#include "loopback/network.h"

namespace cuco::loopback {

[[nodiscard]] Nanoseconds now_ns();

class Courier {
 public:
  Courier();

  /// A delivery of up to kMostBytes, in order with others of its lane. It comes at once, or exactly
  /// at `due` where the GPU's clock is known. Returns its number there.
  std::uint64_t deliver(std::size_t lane, const CopyJob& job, Nanoseconds now, Nanoseconds due = 0);
  [[nodiscard]] bool is_delivered(std::size_t lane, std::uint64_t number) const;
  /// When it was announced; `now` if that is not known any more.
  [[nodiscard]] Nanoseconds time_of(std::size_t lane, std::uint64_t number, Nanoseconds now) const;
  [[nodiscard]] bool knows_clock() const { return clock_.device_at(last_delivery_) != 0; }
  /// A payload of any size, in order with other payloads of its lane. Returns its number there.
  std::uint64_t copy(std::size_t lane, Address source, Address destination, std::uint64_t bytes);
  [[nodiscard]] bool is_copied(std::size_t lane, std::uint64_t number) const;
  /// Keeps the kernel there for a while after the last delivery; called all the time.
  void tend(Nanoseconds now);
  /// What it has not done, for people.
  [[nodiscard]] std::vector<std::string> describe() const;
  [[nodiscard]] bool has_failed() const { return has_failed_; }

  /// What the courier's blocks copy sooner than a kernel of its own would.
  static constexpr std::uint64_t kMostBytes = std::uint64_t{512} << 10U;
  static constexpr std::uint64_t kPiece = std::uint64_t{32} << 10U;

 private:
  struct Lane {
    std::uint64_t sent = 0;
    /// Where the last deliveries write: those that overlap are not copied at once.
    struct Range {
      Address begin = 0;
      std::uint64_t bytes = 0;
    };
    std::array<Range, kParcelsAtOnce> last{};
  };
  /// Of large payloads. Few, since streams that share one of the GPU's queues wait for each other.
  static constexpr std::size_t kStreams = 4;
  struct Stream {
    CUstream stream = nullptr;
    Address ticket = 0;
    std::uint64_t copies = 0;
  };
  [[nodiscard]] const volatile Receipt& receipt(std::size_t lane, std::uint64_t number) const;
  std::uint64_t write(std::size_t lane, const DecodedParcel& parcel, Nanoseconds now);
  std::uint32_t divide(std::size_t lane, const CopyJob& job, Nanoseconds now);
  [[nodiscard]] bool overlaps(const Lane& lane, const CopyJob& job) const;
  void check(CUresult result);

  std::array<Lane, kLanes> lanes_;
  std::array<Stream, kStreams> streams_;
  DeviceClock clock_;
  CUstream stream_ = nullptr;  ///< Of the kernel that stays.
  volatile std::uint64_t* parcels_ = nullptr;
  volatile Receipt* receipts_ = nullptr;      ///< By lane and parcel.
  volatile std::uint64_t* copied_ = nullptr;  ///< By stream.
  volatile std::uint64_t* beat_ = nullptr;
  volatile std::uint64_t* ended_ = nullptr;
  Address next_ = 0, pieces_ = 0;
  std::uint64_t turns_ = 0;
  Nanoseconds last_delivery_ = 0;
  bool has_failed_ = false;
};

}  // namespace cuco::loopback
