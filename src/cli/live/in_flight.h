// SPDX-License-Identifier: Apache-2.0
/// \file
/// InFlight: which candidates are being built, judged or compared right now, since when, and how
/// far each is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "candidate/candidate.h"
#include "candidate/rung.h"
#include "judge/judge_progress.h"

namespace cuco::cli {

enum class Work { Building, Judging, Comparing };

/// One of them, as seen at some moment.
struct RunningJob {
  candidate::Number number = candidate::kSeed;
  Work work = Work::Judging;
  candidate::Fidelity fidelity = candidate::Fidelity::Quick;
  double elapsed = 0;          ///< Seconds.
  std::size_t done = 0;        ///< Steps of the judgement;
  std::size_t all = 0;         ///< 0: not known, or not begun.
  std::optional<double> left;  ///< Seconds, estimated; nothing: too early to say.
  bool operator==(const RunningJob&) const = default;
};

/// May be used from several threads.
class InFlight {
 public:
  /// The clock must outlive it.
  explicit InFlight(const Clock& clock) : clock_(&clock) {}

  /// In the table for as long as it lives.
  class Stay {
   public:
    Stay(InFlight& table, const RunningJob& job, std::string program);
    ~Stay();
    Stay(const Stay&) = delete;
    Stay& operator=(const Stay&) = delete;

   private:
    InFlight& table_;
    std::uint64_t key_;
  };

  /// What the judge says of one of them.
  void advance(const judge::JudgeProgress& progress);

  /// In the order in which they were begun.
  [[nodiscard]] std::vector<RunningJob> jobs() const;

 private:
  struct Job {
    RunningJob about;
    std::string program;  ///< The judge names programs by their text.
    Nanoseconds begin{0};
    Nanoseconds steps_begin{0};
  };
  [[nodiscard]] double seconds_since(Nanoseconds begin) const;
  [[nodiscard]] std::optional<double> left_of(const Job& job) const;

  const Clock* clock_;
  mutable std::mutex mutex_;
  std::map<std::uint64_t, Job> jobs_;
  std::uint64_t next_ = 0;
  std::vector<double> builds_;  ///< Seconds of those that have ended.
};

}  // namespace cuco::cli
