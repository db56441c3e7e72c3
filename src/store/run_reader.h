// SPDX-License-Identifier: Apache-2.0
/// \file
/// A run read in parts, beside whoever writes it: a page of a large run must not read all of it.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string_view>
#include <vector>

#include "candidate/run_summary.h"
#include "candidate/store.h"
#include "store/run_folder.h"

struct sqlite3;
struct sqlite3_stmt;

namespace cuco::store {

/// What a list of runs shows.
struct RunOverview {
  candidate::RunSummary summary;  ///< Without candidates.
  std::int64_t sequence = 0;      ///< Of the last event.
  int candidates = 0;
  double judge_seconds = 0;  ///< Spent on all of them.
  std::optional<candidate::CandidateSummary> best;
};

class RunReader {
 public:
  /// NotFound: there is no such file; InvalidInput: a newer or an older cuco has written it.
  [[nodiscard]] static Result<RunReader> open(const RunFolder& folder);
  RunReader(RunReader&&) noexcept = default;
  RunReader& operator=(RunReader&&) noexcept = default;

  [[nodiscard]] Result<RunOverview> overview() const;
  [[nodiscard]] Result<std::int64_t> last_sequence() const;
  /// All, by number.
  [[nodiscard]] Result<std::vector<candidate::CandidateSummary>> candidates() const;
  [[nodiscard]] Result<std::optional<candidate::CandidateSummary>> candidate(
      candidate::Number number) const;
  /// Which candidates events after `sequence` speak of.
  [[nodiscard]] Result<std::set<candidate::Number>> changed_since(std::int64_t sequence) const;
  /// Events of these kinds (candidate::kind), in order; sources of candidates are left empty.
  [[nodiscard]] Result<std::vector<candidate::Event>> events_of(
      std::span<const std::string_view> kinds) const;
  /// What was reserved, asked and proposed, in order, without a single text: prompts and answers
  /// are by far the largest part of a run.
  [[nodiscard]] Result<std::vector<candidate::Event>> cost_events() const;
  /// By number, of candidates whose time was profiled: the share that is spent in phases of
  /// communication that nothing hides (candidate::kNotHidden, kPolling), at the latest rung.
  [[nodiscard]] Result<std::map<candidate::Number, double>> exposed_shares() const;
  /// By plan, the candidates that were made to try it, in order.
  [[nodiscard]] Result<std::map<int, std::vector<candidate::Number>>> tries() const;
  /// Its proposal, its verdicts, and what its decision asked; empty if there is no such candidate.
  [[nodiscard]] Result<std::vector<candidate::Event>> events_of(candidate::Number number) const;

 private:
  RunReader() = default;
  struct Close {
    void operator()(sqlite3* database) const;
  };
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const;
  };
  using Statement = std::unique_ptr<sqlite3_stmt, Finalize>;

  [[nodiscard]] Result<Statement> prepared(std::string_view sql) const;
  [[nodiscard]] Error failure(std::string_view doing) const;
  [[nodiscard]] Result<std::string> text_of(const std::string& hash) const;
  /// Events of a query over sequence, time_ms, kind, body.
  [[nodiscard]] Result<std::vector<candidate::Event>> events(sqlite3_stmt* query,
                                                             bool with_sources) const;

  std::unique_ptr<sqlite3, Close> database_;
};

}  // namespace cuco::store
