// SPDX-License-Identifier: Apache-2.0
/// \file
/// Set-up calls that all ranks of a communicator have to make: they meet, the last one to arrive
/// concludes for all. Ranks are threads, or calls of one thread between ncclGroupStart and
/// ncclGroupEnd, so that arriving and waiting are two things.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "nccl_core/types.h"

namespace cuco::loopback {

/// What several ranks are about to decide.
class Agreement {
 public:
  virtual ~Agreement() = default;
  [[nodiscard]] virtual bool is_over() = 0;
  /// Until it is decided. What went wrong for all.
  [[nodiscard]] virtual nccl_core::Check wait() = 0;
};

class Meeting final : public Agreement {
 public:
  /// What the last one does, with what everybody brought, by rank.
  using Conclude = std::function<nccl_core::Check(const std::vector<std::shared_ptr<void>>&)>;

  Meeting(std::string call, std::string subject, int ranks);

  /// Takes `rank` in; concludes if it is the last. A problem is that of this rank's call alone.
  [[nodiscard]] nccl_core::Check arrive(int rank,
                                        std::string_view call,
                                        std::shared_ptr<void> part,
                                        const Conclude& conclude);
  /// Until it is concluded, or broken up. What went wrong for all.
  [[nodiscard]] nccl_core::Check wait() override;
  [[nodiscard]] bool is_over() override;
  /// A rank will never come.
  void break_up(nccl_core::Problem why);
  [[nodiscard]] bool has(int rank);
  [[nodiscard]] const std::string& call() const { return call_; }
  /// "ncclCommSplit on communicator 2: ranks 0, 1 called it; rank 2 did not"; empty when over.
  [[nodiscard]] std::string describe();

 private:
  std::string call_, subject_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::shared_ptr<void>> parts_;
  std::vector<bool> present_;
  bool is_over_ = false;
  nccl_core::Check outcome_;
};

/// "rank 3" or "ranks 0, 1, 5".
[[nodiscard]] std::string list_ranks(const std::vector<int>& ranks);

}  // namespace cuco::loopback
