// SPDX-License-Identifier: Apache-2.0
#include "vcluster/host/sessions.h"

#include <utility>

namespace cuco::vcluster {

Session* Sessions::find(std::uint32_t number) const {
  const auto found = sessions_.find(number);
  return found == sessions_.end() ? nullptr : found->second.get();
}

Session& Sessions::add(Session::Sink sink, std::uint32_t pid) {
  const std::uint32_t number = next_++;
  auto session = std::make_unique<Session>(number, timeline_, std::move(sink));
  session->pid = pid;
  session->log = calls;
  session->set_clock(timeline_.now());
  return *(sessions_[number] = std::move(session));
}

}  // namespace cuco::vcluster
