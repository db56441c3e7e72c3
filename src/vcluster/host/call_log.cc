// SPDX-License-Identifier: Apache-2.0
#include "vcluster/host/call_log.h"

#include <string_view>

namespace cuco::vcluster {
namespace {

/// Nobody looks at more, and who asks without end must not fill the memory.
constexpr std::size_t kMostCalls = 1U << 18U;
/// More of the same in a row are one.
constexpr std::size_t kShownRepeats = 8;

}  // namespace

void CallLog::add(HostCall call) {
  const auto [found, is_first] = last_.try_emplace({call.process, call.thread});
  Last& last = found->second;
  HostCall* before = is_first ? nullptr : &all_[last.call];
  const bool repeats = before != nullptr && before->finished == call.started &&
                       before->wait == call.wait && std::string_view(before->name) == call.name;
  last.repeats = repeats ? last.repeats + 1 : 0;
  if (last.repeats > kShownRepeats) {
    before->finished = call.finished;
    ++before->times;
    return;
  }
  if (all_.size() >= kMostCalls) {
    if (is_first) last_.erase(found);
    return;
  }
  last.call = all_.size();
  all_.push_back(std::move(call));
}

void CallLog::forget() {
  all_.clear();
  last_.clear();
}

}  // namespace cuco::vcluster
