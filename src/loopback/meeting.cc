// SPDX-License-Identifier: Apache-2.0
#include "loopback/meeting.h"

#include <algorithm>
#include <utility>

namespace cuco::loopback {

using nccl_core::Check;
using nccl_core::Code;
using nccl_core::Problem;

Meeting::Meeting(std::string call, std::string subject, int ranks)
    : call_(std::move(call)),
      subject_(std::move(subject)),
      parts_(static_cast<std::size_t>(ranks)),
      present_(static_cast<std::size_t>(ranks)) {}

Check Meeting::arrive(int rank,
                      std::string_view call,
                      std::shared_ptr<void> part,
                      const Conclude& conclude) {
  const std::lock_guard lock(mutex_);
  const auto slot = static_cast<std::size_t>(rank);
  if (is_over_) return outcome_;
  if (call != call_) {
    outcome_ = Problem{Code::InvalidUsage,
                       "mismatched calls on " + subject_ + ": rank " + std::to_string(rank) +
                           " calls " + std::string(call) + ", others called " + call_ +
                           "; all ranks must make the same calls in the same order"};
    is_over_ = true;
    changed_.notify_all();
    return outcome_;
  }
  if (present_[slot]) {
    return Problem{Code::InvalidUsage,
                   call_ + ": rank " + std::to_string(rank) + " of " + subject_ + " is used twice"};
  }
  present_[slot] = true;
  parts_[slot] = std::move(part);
  if (std::find(present_.begin(), present_.end(), false) == present_.end()) {
    outcome_ = conclude(parts_);
    is_over_ = true;
    changed_.notify_all();
  }
  return std::nullopt;
}

Check Meeting::wait() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return is_over_; });
  return outcome_;
}

bool Meeting::is_over() {
  const std::lock_guard lock(mutex_);
  return is_over_;
}

void Meeting::break_up(Problem why) {
  const std::lock_guard lock(mutex_);
  if (is_over_) return;
  outcome_ = std::move(why);
  is_over_ = true;
  changed_.notify_all();
}

bool Meeting::has(int rank) {
  const std::lock_guard lock(mutex_);
  return present_[static_cast<std::size_t>(rank)];
}

std::string Meeting::describe() {
  const std::lock_guard lock(mutex_);
  if (is_over_) return {};
  std::vector<int> here;
  std::vector<int> missing;
  for (std::size_t rank = 0; rank < present_.size(); ++rank)
    (present_[rank] ? here : missing).push_back(static_cast<int>(rank));
  return call_ + " on " + subject_ + ": " + list_ranks(here) + " called it; " +
         list_ranks(missing) + " did not";
}

std::string list_ranks(const std::vector<int>& ranks) {
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (std::size_t i = 0; i < ranks.size(); ++i)
    text += (i == 0 ? "" : ", ") + std::to_string(ranks[i]);
  return text;
}

}  // namespace cuco::loopback
