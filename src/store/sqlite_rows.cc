// SPDX-License-Identifier: Apache-2.0
#include "store/sqlite_rows.h"

#include <sqlite3.h>

namespace cuco::store {

#define CUCO_CANDIDATE_COLUMNS                                                                 \
  "SELECT number, parent, proposer, island, phase, directive, because, code_hash, target, "    \
  "fidelity, verdict, text, seconds, baseline_seconds, bound_seconds, hardware, wall_seconds " \
  "FROM candidates "
const char* const kSelectCandidates = CUCO_CANDIDATE_COLUMNS "ORDER BY number";
const char* const kSelectCandidate = CUCO_CANDIDATE_COLUMNS "WHERE number = ?";
#undef CUCO_CANDIDATE_COLUMNS

std::string_view text_column(sqlite3_stmt* row, int column) {
  const auto* bytes = static_cast<const char*>(sqlite3_column_blob(row, column));
  const auto length = static_cast<std::size_t>(sqlite3_column_bytes(row, column));
  return bytes == nullptr ? std::string_view() : std::string_view(bytes, length);
}

std::optional<int> integer_column(sqlite3_stmt* row, int column) {
  if (sqlite3_column_type(row, column) == SQLITE_NULL) return std::nullopt;
  return sqlite3_column_int(row, column);
}

candidate::CandidateSummary candidate_row(sqlite3_stmt* row) {
  candidate::CandidateSummary made{.number = sqlite3_column_int(row, 0),
                                   .parent = integer_column(row, 1),
                                   .proposer = std::string(text_column(row, 2)),
                                   .island = std::string(text_column(row, 3)),
                                   .phase = std::string(text_column(row, 4)),
                                   .directive = std::string(text_column(row, 5)),
                                   .because = std::string(text_column(row, 6)),
                                   .code_hash = std::string(text_column(row, 7))};
  const auto target = candidate::parse_target_kind(text_column(row, 8));
  const auto fidelity = candidate::parse_fidelity(text_column(row, 9));
  if (target && fidelity) made.rung = candidate::Rung{*target, *fidelity};
  made.verdict = text_column(row, 10);
  made.text = text_column(row, 11);
  made.seconds = sqlite3_column_double(row, 12);
  made.baseline_seconds = sqlite3_column_double(row, 13);
  made.bound_seconds = sqlite3_column_double(row, 14);
  made.hardware = text_column(row, 15);
  made.wall_seconds = sqlite3_column_double(row, 16);
  return made;
}

}  // namespace cuco::store
