// SPDX-License-Identifier: Apache-2.0
/// \file
/// Messages of a judged run: what a rank reports to the judge, and what the judge, on a connection
/// of its own that no rank has, tells the server.
///
/// A rank only ever reports and is commanded. That it lies about being done gains it nothing: the
/// server answers the judge when all of the rank's work has ended, and the judge looks at memory.
#pragma once

#include <cstdint>

#include "shims/wire/protocol.h"

namespace cuco::wire {

/// After the subjects of wire/protocol.h, which ranks use.
inline constexpr std::uint16_t kJudgeSubject = 0x2000;

/// From a rank: "phase ended with code"; the reply is the judge's next command. Both may have a
/// tail. The first report binds the connection to a rank for ever.
struct JudgeReport {
  static constexpr std::uint16_t kType = kJudgeSubject + 1;
  enum Phase : std::uint32_t { kStarted = 1, kMadeId, kAllocated, kSetUp, kRan, kFinished };
  enum Command : std::uint32_t { kMakeId = 1, kAllocate, kSetUpNow, kRun, kFinish };
  struct Reply {
    std::uint32_t command = 0;
    std::int32_t argument = 0;  ///< kRun: the buffer set; with a tail, all of its i32 in turn.
  };
  std::uint32_t phase = 0;
  std::int32_t rank = -1;
  std::int32_t code = 0;  ///< 0: well.
  std::uint32_t reserved = 0;
};

/// What the judge is told about one rank.
struct RankReport {
  std::int32_t rank = 0;
  std::uint32_t phase = 0;
  std::int32_t code = 0;
  std::uint32_t tail_bytes = 0;
  std::int64_t time_ps = 0;          ///< When the rank had reported and all its work had ended.
  std::uint64_t deliveries = 0;      ///< Between GPUs, of all ranks, since the last command.
  std::uint64_t copied_to_host = 0;  ///< Bytes, since the last command.
  // Of its longest kernel since the last command; 0: it had none.
  std::int64_t kernel_ps = 0;
  double blocks_per_sm = 0;  ///< In all.
  double waves = 0;          ///< The same, divided by how many fit on an SM at once.
  // Of a real GPU only; 0: not known. See measure/samples.h.
  std::int64_t probe_ps = 0;
  std::int64_t after_ps = 0;
  std::uint32_t clock_mhz = 0;
  std::uint32_t throttled = 0;
};

/// From the judge: waits until every rank has reported, or nothing can go on.
struct JudgeWait {
  static constexpr std::uint16_t kType = kJudgeSubject + 2;
  enum Kind : std::uint32_t {
    kReports = 1,    ///< Tail: `count` RankReport, then their tails.
    kDeadLock = 2,   ///< Tail: who waits for what, one line each.
    kDied = 3,       ///< Tail: the ranks that vanished, one line each.
    kOutOfTime = 4,  ///< `limit_ps` of virtual time have passed.
  };
  struct Reply {
    Kind kind = kReports;
    std::uint32_t count = 0;
    std::int64_t limit_ps = 0;
  };
};

/// From the judge: answers the waiting ranks, all at the same virtual time. Tail: passed on.
struct JudgeCommand {
  static constexpr std::uint16_t kType = kJudgeSubject + 3;
  struct Reply {
    std::int64_t time_ps = 0;  ///< The time at which they go.
  };
  std::uint32_t command = 0;
  std::int32_t argument = 0;
  std::int32_t rank = -1;       ///< -1: all.
  std::int32_t late_rank = -1;  ///< This one goes `late_ps` after the others.
  std::int64_t late_ps = 0;
  std::int32_t slowdown = 1;  ///< And its GPU is so many times slower than the others.
  std::int32_t reserved = 0;
  /// Every delivery between GPUs comes so much later, from this command on: a probe. A program that
  /// communicates and does not get slower by it does not wait for what it says it waits for.
  std::int64_t delivery_delay_ps = 0;
};

/// From the judge: what to copy when this rank arrives next, what else it is given until then, and
/// what not. Tail: `count`, `given` and `closed` pairs of u64 (address, bytes). A rank that is done
/// too early is seen as it was then, not as its peers left it later.
struct JudgeSnapshot {
  static constexpr std::uint16_t kType = kJudgeSubject + 6;
  using Reply = Nothing;
  std::int32_t rank = 0;
  std::uint32_t count = 0;
  std::uint32_t given = 0;   ///< To read; peers may, too, between its entry and its end.
  std::uint32_t closed = 0;  ///< Its buffers that are for other calls.
};

/// From the judge: device memory as it is now, or as it was when a rank arrived. Reply tail: the
/// bytes.
struct JudgeRead {
  static constexpr std::uint16_t kType = kJudgeSubject + 4;
  using Reply = Nothing;
  std::int32_t rank = -1;   ///< -1: now; otherwise `address` is an offset into the rank's copy...
  std::uint32_t index = 0;  ///< ...of this range.
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;  ///< At most kMaxPayload less a header's worth.
};

/// From the judge: what kernels and streams have done, see vcluster/watch/run_report.h; deliveries
/// only for a timeline. Reply tail: as much as fits of the JSON from `offset` on, which is "{}"
/// where the run is not profiled. It is made anew when it is asked for from the beginning.
struct JudgeProfile {
  static constexpr std::uint16_t kType = kJudgeSubject + 8;
  using Reply = Nothing;
  std::uint32_t forget = 0;  ///< Not 0: forgets it, tells nothing.
  std::uint32_t reserved = 0;
  std::uint64_t offset = 0;
};

/// From the judge: changes device memory. Tail: the bytes.
struct JudgeWrite {
  static constexpr std::uint16_t kType = kJudgeSubject + 5;
  using Reply = Nothing;
  std::uint64_t address = 0;
};

/// From the judge: what the checker of this run has found so far. Reply tail: JSON, as
/// check::to_json writes it. Refused by a server that was not started with --check.
struct JudgeFindings {
  static constexpr std::uint16_t kType = kJudgeSubject + 7;
  using Reply = Nothing;
};

}  // namespace cuco::wire
