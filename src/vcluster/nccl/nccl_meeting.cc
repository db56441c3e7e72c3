// SPDX-License-Identifier: Apache-2.0
#include "vcluster/nccl/nccl_meeting.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace cuco::vcluster {

using nccl_core::Check;
using nccl_core::Code;
using nccl_core::Problem;

std::string_view name_of(wire::NcclItemKind kind) {
  switch (kind) {
    case wire::NcclItemKind::Init:
      return "ncclCommInitRank";
    case wire::NcclItemKind::Split:
      return "ncclCommSplit";
    case wire::NcclItemKind::Shrink:
      return "ncclCommShrink";
    case wire::NcclItemKind::WindowRegister:
      return "ncclCommWindowRegister";
    case wire::NcclItemKind::WindowDeregister:
      return "ncclCommWindowDeregister";
    case wire::NcclItemKind::DevCommCreate:
      return "ncclDevCommCreate";
    case wire::NcclItemKind::DevCommDestroy:
      return "ncclDevCommDestroy";
    case wire::NcclItemKind::Operation:
      return "a collective";
    case wire::NcclItemKind::Register:
      return "ncclCommRegister";
    case wire::NcclItemKind::Finalize:
      return "ncclCommFinalize";
    case wire::NcclItemKind::Destroy:
      return "ncclCommDestroy";
    case wire::NcclItemKind::Abort:
      return "ncclCommAbort";
    case wire::NcclItemKind::Revoke:
      return "ncclCommRevoke";
  }
  return "an unknown call";
}

/// Our own library never sends it: a message that was written by hand.
NcclReply malformed(wire::NcclItemKind kind) {
  return NcclReply::failure(
      {Code::InternalError, fmt::format("{}: malformed message", name_of(kind))});
}

std::vector<int> all_ranks(int count) {
  std::vector<int> ranks(static_cast<std::size_t>(count));
  std::iota(ranks.begin(), ranks.end(), 0);
  return ranks;
}

std::string list_ranks(const std::vector<int>& ranks) {
  return fmt::format("rank{} {}", ranks.size() == 1 ? "" : "s", fmt::join(ranks, ", "));
}

Meeting::Meeting(std::string subject, wire::NcclItemKind kind, std::vector<int> expected)
    : subject_(std::move(subject)), kind_(kind), expected_(std::move(expected)) {}

Check Meeting::arrive(wire::NcclItemKind kind, Attendance attendance) {
  const int rank = attendance.rank;
  if (kind != kind_) {
    return Problem{Code::InvalidUsage,
                   fmt::format("mismatched calls on {}: rank {} calls {}, {} called {}; all ranks "
                               "must make the same calls in the same order",
                               subject_, rank, name_of(kind),
                               present_.empty() ? "nobody" : list_ranks({present_.begin()->first}),
                               name_of(kind_))};
  }
  if (std::find(expected_.begin(), expected_.end(), rank) == expected_.end()) {
    return Problem{Code::InvalidArgument, fmt::format("{}: rank {} is not one of {}", name_of(kind),
                                                      rank, list_ranks(expected_))};
  }
  if (present_.contains(rank)) {
    return Problem{Code::InvalidUsage,
                   fmt::format("{}: rank {} of {} is used twice", name_of(kind), rank, subject_)};
  }
  *known_ = check::Clock::join(*known_, attendance.known);
  attendance.answer = [known = known_, answer = std::move(attendance.answer)](NcclReply reply) {
    reply.known = *known;
    answer(std::move(reply));
  };
  present_.emplace(rank, std::move(attendance));
  return std::nullopt;
}

void Meeting::answer_all(const NcclReply& reply) {
  for (auto& [rank, attendance] : present_)
    attendance.answer(reply);
}

std::string Meeting::describe() const {
  std::vector<int> here;
  std::vector<int> missing;
  for (const int rank : expected_)
    (present_.contains(rank) ? here : missing).push_back(rank);
  return fmt::format("{} on {}: {} called it; {} did not", name_of(kind_), subject_,
                     list_ranks(here), list_ranks(missing));
}

}  // namespace cuco::vcluster
