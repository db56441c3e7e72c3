// SPDX-License-Identifier: Apache-2.0
/// \file
/// The machine's own clock.
#pragma once

#include "base/clock.h"

namespace cuco::system {

class SystemClock final : public Clock {
 public:
  [[nodiscard]] Nanoseconds now() const override;
  [[nodiscard]] Nanoseconds wall() const override;
  void sleep(Nanoseconds duration) override;
};

}  // namespace cuco::system
