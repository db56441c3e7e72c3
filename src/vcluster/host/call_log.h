// SPDX-License-Identifier: Apache-2.0
/// \file
/// What host threads called and how long it took, for timelines.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "vcluster/core/timeline.h"

namespace cuco::vcluster {

struct HostCall {
  std::uint32_t process = 0;
  std::int32_t rank = -1;    ///< -1: it has none.
  std::uint32_t thread = 0;  ///< Number within the process.
  const char* name = "";     ///< See Dispatcher::Entry::name.
  std::string wait;          ///< What it waited for; empty: nothing.
  VTime started = 0;
  VTime finished = 0;
  std::uint64_t times = 1;  ///< One after the other: whoever polls does nothing else.
};

class CallLog {
 public:
  void add(HostCall call);
  [[nodiscard]] const std::vector<HostCall>& all() const { return all_; }
  void forget();

 private:
  std::vector<HostCall> all_;
  struct Last {
    std::size_t call = 0;
    std::size_t repeats = 0;  ///< Of the same before it.
  };
  std::map<std::pair<std::uint32_t, std::uint32_t>, Last> last_;  ///< By process and thread.
};

}  // namespace cuco::vcluster
