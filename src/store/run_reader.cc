// SPDX-License-Identifier: Apache-2.0
#include "store/run_reader.h"

#include <iterator>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <sqlite3.h>

#include "candidate/event_json.h"
#include "store/sqlite_rows.h"

namespace cuco::store {
namespace {

constexpr const char* kOverview =
    "SELECT workload, target, hardware, seed, started_ms, best, finished, "
    "(SELECT time_ms FROM events ORDER BY sequence DESC LIMIT 1), "
    "(SELECT max(sequence) FROM events), (SELECT count(*) FROM candidates), "
    "(SELECT total(wall_seconds) FROM candidates) FROM run";
// Candidates are numbered as they are proposed.
constexpr const char* kProposal =
    "SELECT sequence, time_ms, kind, body FROM events WHERE kind = 'proposed' ORDER BY sequence "
    "LIMIT 1 OFFSET ?";
constexpr const char* kVerdicts =
    "SELECT sequence, time_ms, kind, body FROM events WHERE sequence > ?1 AND kind = 'evaluated' "
    "AND json_extract(body, '$.candidate') = ?2 ORDER BY sequence";
constexpr const char* kExchanges =
    "SELECT sequence, time_ms, kind, body FROM events WHERE kind = 'exchanged' AND "
    "json_extract(body, '$.decision') = ? ORDER BY sequence";
constexpr const char* kChanged =
    "SELECT CASE kind WHEN 'proposed' THEN json_extract(body, '$.candidate.number') ELSE "
    "json_extract(body, '$.candidate') END FROM events WHERE sequence > ? AND kind IN ('proposed', "
    "'evaluated', 'best')";
constexpr const char* kCost =
    "SELECT sequence, time_ms, kind, CASE kind WHEN 'exchanged' THEN json_set(body, "
    "'$.exchange.prompt', '', '$.exchange.answer', '') ELSE body END FROM events WHERE kind IN "
    "('proposed', 'reserved', 'exchanged') ORDER BY sequence";
constexpr const char* kExposed =
    "SELECT json_extract(body, '$.candidate'), (SELECT total(CASE WHEN p.value ->> '$.phase' IN "
    "(?1, ?2) THEN p.value ->> '$.seconds' END) / nullif(total(p.value ->> '$.seconds'), 0) FROM "
    "json_each(events.body, '$.outcome.shapes') s, json_each(s.value, '$.phases') p) FROM events "
    "WHERE kind = 'evaluated' AND json_extract(body, '$.outcome.verdict') = 'scored' ORDER BY "
    "sequence";
constexpr const char* kTries =
    "SELECT json_extract(body, '$.candidate.lineage.plan'), json_extract(body, "
    "'$.candidate.number') FROM events WHERE kind = 'proposed' AND json_extract(body, "
    "'$.candidate.lineage.plan') IS NOT NULL ORDER BY sequence";

}  // namespace

void RunReader::Close::operator()(sqlite3* database) const {
  sqlite3_close(database);
}

void RunReader::Finalize::operator()(sqlite3_stmt* statement) const {
  sqlite3_finalize(statement);
}

Error RunReader::failure(std::string_view doing) const {
  return {ErrorKind::Io, fmt::format("store: {}: {}", doing, sqlite3_errmsg(database_.get()))};
}

Result<RunReader> RunReader::open(const RunFolder& folder) {
  RunReader reader;
  sqlite3* opened = nullptr;
  const int status = sqlite3_open_v2(folder.database().c_str(), &opened,
                                     SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX, nullptr);
  reader.database_.reset(opened);
  if (status != SQLITE_OK) {
    return Error{ErrorKind::NotFound, fmt::format("run {} cannot be read", folder.name)};
  }
  sqlite3_busy_timeout(opened, kBusyMilliseconds);
  CUCO_TRY_ASSIGN(const Statement query, reader.prepared("PRAGMA user_version"));
  if (sqlite3_step(query.get()) != SQLITE_ROW) return reader.failure("read the schema's version");
  const int version = sqlite3_column_int(query.get(), 0);
  if (version != kSchemaVersion) {
    return Error{ErrorKind::InvalidInput,
                 version > kSchemaVersion
                     ? fmt::format("run {} was written by a newer cuco: update cuco", folder.name)
                     : fmt::format("run {} was written by an older cuco; bring it up with: cuco db "
                                   "vacuum {}",
                                   folder.name, folder.name)};
  }
  return reader;
}

Result<RunReader::Statement> RunReader::prepared(std::string_view sql) const {
  sqlite3_stmt* statement = nullptr;
  if (sqlite3_prepare_v2(database_.get(), sql.data(), static_cast<int>(sql.size()), &statement,
                         nullptr) != SQLITE_OK) {
    return failure(sql);
  }
  return Statement(statement);
}

Result<RunOverview> RunReader::overview() const {
  RunOverview made;
  CUCO_TRY_ASSIGN(const Statement run, prepared(kOverview));
  if (sqlite3_step(run.get()) != SQLITE_ROW) return failure("read the run");
  made.summary.workload = text_column(run.get(), 0);
  made.summary.target = text_column(run.get(), 1);
  made.summary.hardware = text_column(run.get(), 2);
  made.summary.seed = static_cast<std::uint64_t>(sqlite3_column_int64(run.get(), 3));
  made.summary.started_ms = sqlite3_column_int64(run.get(), 4);
  made.summary.best = integer_column(run.get(), 5);
  if (sqlite3_column_type(run.get(), 6) != SQLITE_NULL)
    made.summary.finished = text_column(run.get(), 6);
  made.summary.last_ms = sqlite3_column_int64(run.get(), 7);
  made.sequence = sqlite3_column_int64(run.get(), 8);
  made.candidates = sqlite3_column_int(run.get(), 9);
  made.judge_seconds = sqlite3_column_double(run.get(), 10);
  if (made.summary.best) {
    CUCO_TRY_ASSIGN(made.best, candidate(*made.summary.best));
  }
  return made;
}

Result<std::int64_t> RunReader::last_sequence() const {
  CUCO_TRY_ASSIGN(const Statement query, prepared("SELECT max(sequence) FROM events"));
  if (sqlite3_step(query.get()) != SQLITE_ROW) return failure("read the last event");
  return sqlite3_column_int64(query.get(), 0);
}

Result<std::vector<candidate::CandidateSummary>> RunReader::candidates() const {
  CUCO_TRY_ASSIGN(const Statement rows, prepared(kSelectCandidates));
  std::vector<candidate::CandidateSummary> list;
  int status = sqlite3_step(rows.get());
  for (; status == SQLITE_ROW; status = sqlite3_step(rows.get()))
    list.push_back(candidate_row(rows.get()));
  if (status != SQLITE_DONE) return failure("read the candidates");
  return list;
}

Result<std::optional<candidate::CandidateSummary>> RunReader::candidate(
    candidate::Number number) const {
  CUCO_TRY_ASSIGN(const Statement row, prepared(kSelectCandidate));
  sqlite3_bind_int(row.get(), 1, number);
  if (sqlite3_step(row.get()) != SQLITE_ROW) return std::optional<candidate::CandidateSummary>();
  return std::optional(candidate_row(row.get()));
}

Result<std::set<candidate::Number>> RunReader::changed_since(std::int64_t sequence) const {
  CUCO_TRY_ASSIGN(const Statement rows, prepared(kChanged));
  sqlite3_bind_int64(rows.get(), 1, sequence);
  std::set<candidate::Number> numbers;
  int status = sqlite3_step(rows.get());
  for (; status == SQLITE_ROW; status = sqlite3_step(rows.get()))
    numbers.insert(sqlite3_column_int(rows.get(), 0));
  if (status != SQLITE_DONE) return failure("read what changed");
  return numbers;
}

Result<std::string> RunReader::text_of(const std::string& hash) const {
  CUCO_TRY_ASSIGN(const Statement query, prepared("SELECT text FROM sources WHERE hash = ?"));
  sqlite3_bind_text(query.get(), 1, hash.data(), static_cast<int>(hash.size()), SQLITE_STATIC);
  if (sqlite3_step(query.get()) != SQLITE_ROW)
    return Error{ErrorKind::Protocol, fmt::format("source {} is missing", hash)};
  return std::string(text_column(query.get(), 0));
}

Result<std::vector<candidate::Event>> RunReader::events(sqlite3_stmt* query,
                                                        bool with_sources) const {
  std::vector<candidate::Event> list;
  const auto text = [&](const std::string& hash) -> Result<std::string> {
    return with_sources ? text_of(hash) : std::string();
  };
  int status = sqlite3_step(query);
  for (; status == SQLITE_ROW; status = sqlite3_step(query)) {
    CUCO_TRY_ASSIGN(auto body,
                    candidate::parse_event(text_column(query, 2), text_column(query, 3), text));
    list.push_back(
        {sqlite3_column_int64(query, 0), sqlite3_column_int64(query, 1), std::move(body)});
  }
  if (status != SQLITE_DONE) return failure("read events");
  return list;
}

Result<std::vector<candidate::Event>> RunReader::events_of(
    std::span<const std::string_view> kinds) const {
  std::string places;
  for (std::size_t i = 0; i < kinds.size(); ++i)
    places += i == 0 ? "?" : ", ?";
  CUCO_TRY_ASSIGN(const Statement query,
                  prepared(fmt::format("SELECT sequence, time_ms, kind, body FROM events WHERE "
                                       "kind IN ({}) ORDER BY sequence",
                                       places)));
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    sqlite3_bind_text(query.get(), static_cast<int>(i + 1), kinds[i].data(),
                      static_cast<int>(kinds[i].size()), SQLITE_STATIC);
  }
  return events(query.get(), false);
}

Result<std::vector<candidate::Event>> RunReader::cost_events() const {
  CUCO_TRY_ASSIGN(const Statement query, prepared(kCost));
  return events(query.get(), false);
}

Result<std::map<candidate::Number, double>> RunReader::exposed_shares() const {
  CUCO_TRY_ASSIGN(const Statement query, prepared(kExposed));
  int place = 0;
  for (const std::string_view phase : {candidate::kNotHidden, candidate::kPolling})
    sqlite3_bind_text(query.get(), ++place, phase.data(), static_cast<int>(phase.size()),
                      SQLITE_STATIC);
  std::map<candidate::Number, double> shares;
  int status = sqlite3_step(query.get());
  for (; status == SQLITE_ROW; status = sqlite3_step(query.get())) {
    if (sqlite3_column_type(query.get(), 1) != SQLITE_NULL)
      shares[sqlite3_column_int(query.get(), 0)] = sqlite3_column_double(query.get(), 1);
  }
  if (status != SQLITE_DONE) return failure("read where time goes");
  return shares;
}

Result<std::map<int, std::vector<candidate::Number>>> RunReader::tries() const {
  CUCO_TRY_ASSIGN(const Statement query, prepared(kTries));
  std::map<int, std::vector<candidate::Number>> tries;
  int status = sqlite3_step(query.get());
  for (; status == SQLITE_ROW; status = sqlite3_step(query.get()))
    tries[sqlite3_column_int(query.get(), 0)].push_back(sqlite3_column_int(query.get(), 1));
  if (status != SQLITE_DONE) return failure("read what plans were tried");
  return tries;
}

Result<std::vector<candidate::Event>> RunReader::events_of(candidate::Number number) const {
  CUCO_TRY_ASSIGN(const Statement proposal, prepared(kProposal));
  sqlite3_bind_int(proposal.get(), 1, number);
  CUCO_TRY_ASSIGN(std::vector<candidate::Event> list, events(proposal.get(), true));
  if (list.empty()) return list;
  const auto& proposed = std::get<candidate::Proposed>(list.front().body);
  if (proposed.candidate.number != number)
    return Error{ErrorKind::Protocol, fmt::format("candidate {} is not in its place", number)};
  const auto decision = proposed.decision < 0 ? number : proposed.decision;
  CUCO_TRY_ASSIGN(const Statement verdicts, prepared(kVerdicts));
  sqlite3_bind_int64(verdicts.get(), 1, list.front().sequence);
  sqlite3_bind_int(verdicts.get(), 2, number);
  CUCO_TRY_ASSIGN(std::vector<candidate::Event> more, events(verdicts.get(), true));
  std::move(more.begin(), more.end(), std::back_inserter(list));
  CUCO_TRY_ASSIGN(const Statement exchanges, prepared(kExchanges));
  sqlite3_bind_int64(exchanges.get(), 1, decision);
  CUCO_TRY_ASSIGN(more, events(exchanges.get(), true));
  std::move(more.begin(), more.end(), std::back_inserter(list));
  return list;
}

}  // namespace cuco::store
