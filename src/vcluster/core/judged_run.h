// SPDX-License-Identifier: Apache-2.0
/// \file
/// What a judge has said about the run: see judge_seat.h.
#pragma once

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

 private:
  bool judged_ = false;
  bool held_ = false;
};

}  // namespace cuco::vcluster
