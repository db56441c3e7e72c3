// SPDX-License-Identifier: Apache-2.0
/// \file
/// What a judge has said about the run: see judge_seat.h.
#pragma once

#include "vgpu/timing/time.h"

namespace cuco::vcluster {

class JudgedRun {
 public:
  /// A judge has its seat: ranks may ask for less, see judged_requests.h.
  void begin() { judged_ = true; }
  [[nodiscard]] bool is_judged() const { return judged_; }

  /// The judge has all ranks, and prepares: nothing moves until it lets go.
  void hold() { held_ = true; }
  void let_go() { held_ = false; }
  [[nodiscard]] bool is_held() const { return held_; }

  /// Virtual time that the ranks have for what they were told.
  void allow_until(vgpu::VTime limit) { limit_ = limit; }
  [[nodiscard]] vgpu::VTime limit() const { return limit_; }

 private:
  bool judged_ = false;
  bool held_ = false;
  vgpu::VTime limit_ = vgpu::kEndOfTime;
};

}  // namespace cuco::vcluster
