// SPDX-License-Identifier: Apache-2.0
/// \file
/// Rows of the store's tables as values.
#pragma once

#include <optional>
#include <string_view>

#include "candidate/run_summary.h"

struct sqlite3_stmt;

namespace cuco::store {

inline constexpr int kSchemaVersion = 2;
inline constexpr int kBusyMilliseconds = 5000;  ///< For another process that writes.

[[nodiscard]] std::string_view text_column(sqlite3_stmt* row, int column);
[[nodiscard]] std::optional<int> integer_column(sqlite3_stmt* row, int column);

/// Queries whose rows candidate_row() reads.
extern const char* const kSelectCandidates;  ///< All, by number.
extern const char* const kSelectCandidate;   ///< One.
[[nodiscard]] candidate::CandidateSummary candidate_row(sqlite3_stmt* row);

}  // namespace cuco::store
