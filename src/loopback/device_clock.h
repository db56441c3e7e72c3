// SPDX-License-Identifier: Apache-2.0
/// \file
/// What the GPU's clock shows at a time of the host's: so that a kernel itself can wait for the
/// moment at which something is due. The GPU writes its time to host memory again and again; what
/// was seen soonest is nearest to the truth, and both clocks drift, so that old sightings are
/// forgotten.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>

namespace cuco::loopback {

class DeviceClock {
 public:
  /// At `host` the time `device` was in memory.
  void saw(std::int64_t host, std::uint64_t device) {
    if (device == last_) return;
    last_ = device;
    if (host - begun_ > kWindow) {
      before_ = host - begun_ > 2 * kWindow ? kNone : least_;
      least_ = kNone;
      begun_ = host;
    }
    least_ = std::min(least_, host - static_cast<std::int64_t>(device));
  }
  /// 0: not known.
  [[nodiscard]] std::uint64_t device_at(std::int64_t host) const {
    const std::int64_t offset = std::min(least_, before_);
    return offset == kNone || host <= offset ? 0 : static_cast<std::uint64_t>(host - offset);
  }
  [[nodiscard]] std::optional<std::int64_t> host_at(std::uint64_t device) const {
    const std::int64_t offset = std::min(least_, before_);
    if (offset == kNone || device == 0) return std::nullopt;
    return static_cast<std::int64_t>(device) + offset;
  }
  /// The GPU has been quiet: what was seen says nothing any more.
  void forget() { least_ = before_ = kNone; }

 private:
  static constexpr std::int64_t kWindow = 50'000'000;
  static constexpr std::int64_t kNone = std::numeric_limits<std::int64_t>::max();
  std::uint64_t last_ = 0;
  std::int64_t begun_ = 0, least_ = kNone, before_ = kNone;
};

}  // namespace cuco::loopback
