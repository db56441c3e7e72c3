// SPDX-License-Identifier: Apache-2.0
/// \file
/// Collective set-up calls: the ranks of a communicator meet, the last one to arrive concludes.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "check/race/happens_before.h"
#include "nccl_core/types.h"
#include "shims/wire/messages_nccl.h"
#include "shims/wire/view.h"

namespace cuco::vcluster {

/// What an item of a group is answered with.
struct NcclReply {
  nccl_core::Problem problem;  ///< Success: none.
  std::vector<std::byte> payload;
  check::ClockPtr known;  ///< Checked runs: what all who met knew.

  template <typename T>
  static NcclReply of(const T& value) {
    NcclReply reply;
    wire::append(reply.payload, value);
    return reply;
  }
  static NcclReply failure(nccl_core::Problem problem) { return {std::move(problem), {}, {}}; }
};

/// One rank's part in a meeting.
struct Attendance {
  int rank = 0;
  std::uint32_t process = 0;
  std::vector<std::byte> payload;  ///< The item's payload and tail, checked by the subject.
  std::function<void(NcclReply)> answer;
  check::ClockPtr known;  ///< Checked runs: what its host knew.
};

/// A set of ranks that have to arrive with the same kind of call.
class Meeting {
 public:
  Meeting(std::string subject, wire::NcclItemKind kind, std::vector<int> expected);

  /// Adds a rank; says what is wrong if it does not belong here.
  [[nodiscard]] nccl_core::Check arrive(wire::NcclItemKind kind, Attendance attendance);
  [[nodiscard]] bool is_complete() const { return present_.size() == expected_.size(); }
  /// All parts, by rank.
  [[nodiscard]] std::map<int, Attendance>& present() { return present_; }
  void answer_all(const NcclReply& reply);
  /// "ncclCommSplit on communicator 2: ranks 0, 1 are there; ranks 2, 3 are missing".
  [[nodiscard]] std::string describe() const;

 private:
  std::string subject_;
  wire::NcclItemKind kind_;
  std::vector<int> expected_;
  std::map<int, Attendance> present_;
  /// What those who came knew; shared with their answers.
  std::shared_ptr<check::ClockPtr> known_ = std::make_shared<check::ClockPtr>();
};

/// The name of the NCCL function that sends such an item.
[[nodiscard]] std::string_view name_of(wire::NcclItemKind kind);

/// The answer to a payload that no honest library sends.
[[nodiscard]] NcclReply malformed(wire::NcclItemKind kind);

/// 0, 1, … up to `count`.
[[nodiscard]] std::vector<int> all_ranks(int count);

/// "rank 3" or "ranks 0, 1, 5".
[[nodiscard]] std::string list_ranks(const std::vector<int>& ranks);

}  // namespace cuco::vcluster
