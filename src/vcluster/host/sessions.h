// SPDX-License-Identifier: Apache-2.0
/// \file
/// All host threads that are connected, by number.
#pragma once

#include <cstdint>
#include <map>
#include <memory>

#include "vcluster/host/session.h"

namespace cuco::vcluster {

class Sessions {
 public:
  explicit Sessions(const Timeline& timeline) : timeline_(timeline) {}

  [[nodiscard]] const std::map<std::uint32_t, std::unique_ptr<Session>>& all() const {
    return sessions_;
  }
  /// Null: the thread has gone. Whoever acts later keeps the number, and looks it up then.
  [[nodiscard]] Session* find(std::uint32_t number) const;
  /// A thread of the process `pid`, or of one that has yet to say so (0).
  Session& add(Session::Sink sink, std::uint32_t pid);
  void erase(const Session& session) { sessions_.erase(session.number()); }

  CallLog* calls = nullptr;  ///< Where threads note what they call; null: nowhere.

 private:
  const Timeline& timeline_;
  std::map<std::uint32_t, std::unique_ptr<Session>> sessions_;
  std::uint32_t next_ = 0;
};

}  // namespace cuco::vcluster
