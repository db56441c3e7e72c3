// SPDX-License-Identifier: Apache-2.0
#include "store/sqlite_store.h"

#include <utility>

#include <fmt/format.h>
#include <sqlite3.h>

#include "candidate/event_json.h"
#include "store/sqlite_rows.h"

namespace cuco::store {
namespace {
using candidate::CandidateSummary;
using candidate::Event;
using candidate::RunSummary;

constexpr const char* kCreate =
    "CREATE TABLE IF NOT EXISTS events(sequence INTEGER PRIMARY KEY, time_ms INTEGER NOT NULL, "
    "kind TEXT NOT NULL, body TEXT NOT NULL);"
    "CREATE TABLE IF NOT EXISTS sources(hash TEXT PRIMARY KEY, text BLOB NOT NULL);"
    "CREATE TABLE IF NOT EXISTS run(one INTEGER PRIMARY KEY CHECK (one = 1), workload TEXT, "
    "target TEXT, hardware TEXT, seed INTEGER, started_ms INTEGER, best INTEGER, finished TEXT);"
    "INSERT OR IGNORE INTO run(one) VALUES(1);"
    "CREATE TABLE IF NOT EXISTS candidates(number INTEGER PRIMARY KEY, parent INTEGER, "
    "proposer TEXT, island TEXT, phase TEXT, directive TEXT, because TEXT, code_hash TEXT, "
    "target TEXT, fidelity TEXT, verdict TEXT, text TEXT, seconds REAL, baseline_seconds REAL, "
    "bound_seconds REAL, hardware TEXT, wall_seconds REAL);";

constexpr const char* kInsertEvent = "INSERT INTO events(time_ms, kind, body) VALUES(?, ?, ?)";
constexpr const char* kSelectEvents =
    "SELECT sequence, time_ms, kind, body FROM events WHERE sequence > ? ORDER BY sequence";
constexpr const char* kInsertSource = "INSERT OR IGNORE INTO sources(hash, text) VALUES(?, ?)";
constexpr const char* kHasSource = "SELECT 1 FROM sources WHERE hash = ?";
constexpr const char* kSelectSource = "SELECT text FROM sources WHERE hash = ?";
constexpr const char* kStartRun =
    "UPDATE run SET workload = ?, target = ?, hardware = ?, seed = ?, started_ms = ?";
constexpr const char* kSetBest = "UPDATE run SET best = ?";
constexpr const char* kSetFinished = "UPDATE run SET finished = ?";
constexpr const char* kSelectRun =
    "SELECT workload, target, hardware, seed, started_ms, best, finished, "
    "(SELECT time_ms FROM events ORDER BY sequence DESC LIMIT 1) FROM run";
constexpr const char* kReplaceCandidate =
    "REPLACE INTO candidates(number, parent, proposer, island, phase, directive, because, "
    "code_hash, target, fidelity, verdict, text, seconds, baseline_seconds, bound_seconds, "
    "hardware, wall_seconds) VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";

/// Texts are bound without a copy: they must outlive the step.
void bind_value(sqlite3_stmt* statement, int index, std::string_view text) {
  sqlite3_bind_text64(statement, index, text.data(), text.size(), SQLITE_STATIC, SQLITE_UTF8);
}
void bind_value(sqlite3_stmt* statement, int index, const std::optional<int>& value) {
  value ? sqlite3_bind_int(statement, index, *value) : sqlite3_bind_null(statement, index);
}

}  // namespace

Error SqliteStore::failure(std::string_view doing, ErrorKind kind) const {
  const char* why = database_ == nullptr ? "out of memory" : sqlite3_errmsg(database_);
  return {kind, fmt::format("store: {}: {}", doing, why)};
}

Result<void> SqliteStore::execute(const char* sql) const {
  if (sqlite3_exec(database_, sql, nullptr, nullptr, nullptr) != SQLITE_OK) return failure(sql);
  return {};
}

Result<sqlite3_stmt*> SqliteStore::prepared(const char* sql) const {
  auto& statement = statements_[sql];
  if (statement == nullptr && sqlite3_prepare_v3(database_, sql, -1, SQLITE_PREPARE_PERSISTENT,
                                                 &statement, nullptr) != SQLITE_OK) {
    return failure(sql);
  }
  return statement;
}

Result<void> SqliteStore::step(sqlite3_stmt* statement, std::string_view doing) const {
  const int status = sqlite3_step(statement);
  sqlite3_reset(statement);
  sqlite3_clear_bindings(statement);
  if (status != SQLITE_DONE) return failure(doing);
  return {};
}

Result<std::unique_ptr<SqliteStore>> SqliteStore::open(const system::Path& file,
                                                       OpenMode mode,
                                                       const Clock& clock) {
  std::unique_ptr<SqliteStore> store(new SqliteStore(clock));
  store->writable_ = mode == OpenMode::ReadWrite;
  const int flags =
      store->writable_ ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE : SQLITE_OPEN_READONLY;
  if (sqlite3_open_v2(file.c_str(), &store->database_, flags | SQLITE_OPEN_NOMUTEX, nullptr) !=
      SQLITE_OK) {
    return store->failure(fmt::format("open '{}'", file.string()), ErrorKind::NotFound);
  }
  sqlite3_busy_timeout(store->database_, kBusyMilliseconds);
  CUCO_TRY_ASSIGN(store->version_, store->version());
  if (store->version_ > kSchemaVersion) {
    return Error{ErrorKind::InvalidInput,
                 fmt::format("'{}' was written by a newer cuco (schema {}, this one reads up to "
                             "{}): update cuco",
                             file.string(), store->version_, kSchemaVersion)};
  }
  if (store->writable_) {
    CUCO_TRY(store->migrate());
    CUCO_TRY_ASSIGN(store->shelf_, SourceShelf::open(file, SourceShelf::kMostBytes));
  }
  return store;
}

SqliteStore::~SqliteStore() {
  for (const auto& [sql, statement] : statements_)
    sqlite3_finalize(statement);
  sqlite3_close(database_);
}

Result<int> SqliteStore::version() const {
  CUCO_TRY_ASSIGN(sqlite3_stmt * query, prepared("PRAGMA user_version"));
  if (sqlite3_step(query) != SQLITE_ROW) return failure("read the schema's version");
  const int found = sqlite3_column_int(query, 0);
  sqlite3_reset(query);
  return found;
}

Result<void> SqliteStore::migrate() {
  CUCO_TRY(execute("PRAGMA journal_mode=WAL"));
  CUCO_TRY(execute("PRAGMA synchronous=FULL"));
  if (version_ == kSchemaVersion) return {};
  // All or nothing: a kill in between leaves the old version.
  CUCO_TRY(execute("BEGIN IMMEDIATE"));
  auto migrated = migrate_from_1();
  if (!migrated) {
    CUCO_TRY(execute("ROLLBACK"));
    return std::move(migrated).error().while_doing("bring the run up to schema 2");
  }
  CUCO_TRY(execute("COMMIT"));
  version_ = kSchemaVersion;
  return {};
}

/// A new file is one of version 1 without events.
Result<void> SqliteStore::migrate_from_1() {
  CUCO_TRY(execute(kCreate));
  CUCO_TRY_ASSIGN(const std::vector<Event> all, events(0));
  CUCO_TRY_ASSIGN(sqlite3_stmt * update, prepared("UPDATE events SET body = ? WHERE sequence = ?"));
  for (const Event& event : all) {
    const auto stored = candidate::to_stored(event.body);
    CUCO_TRY(write_sources(stored.texts));
    bind_value(update, 1, stored.json);
    sqlite3_bind_int64(update, 2, event.sequence);
    CUCO_TRY(step(update, "rewrite an event"));
    CUCO_TRY(write_summary(event));
  }
  return execute(fmt::format("PRAGMA user_version={}", kSchemaVersion).c_str());
}

Result<Event> SqliteStore::append(candidate::EventBody body) {
  if (!writable_) return Error{ErrorKind::InvalidInput, "store: opened for reading only"};
  if (auto failed = shelf_->failure()) return *std::move(failed);
  const auto now = std::chrono::duration_cast<std::chrono::milliseconds>(clock_.wall()).count();
  const auto stored = candidate::to_stored(body);
  const auto write = [&]() -> Result<std::int64_t> {
    CUCO_TRY(write_sources(stored.texts));
    CUCO_TRY_ASSIGN(sqlite3_stmt * insert, prepared(kInsertEvent));
    sqlite3_bind_int64(insert, 1, now);
    bind_value(insert, 2, candidate::kind(body));
    bind_value(insert, 3, stored.json);
    CUCO_TRY(step(insert, "append"));
    const auto sequence = sqlite3_last_insert_rowid(database_);
    CUCO_TRY(write_summary({sequence, now, body}));
    return sequence;
  };
  CUCO_TRY(execute("BEGIN IMMEDIATE"));
  auto sequence = write();
  if (!sequence) {
    CUCO_TRY(execute("ROLLBACK"));
    return std::move(sequence).error();
  }
  CUCO_TRY(execute("COMMIT"));
  shelve(&body, stored);
  return Event{*sequence, now, std::move(body)};
}

void SqliteStore::shelve(candidate::EventBody* body, const candidate::StoredEvent& stored) {
  auto* proposed = std::get_if<candidate::Proposed>(body);
  if (proposed == nullptr || stored.files.empty()) return;
  FileHashes hashes;
  for (const program::File& file : stored.files)
    hashes.emplace_back(file.path, stored.texts[hashes.size()].first);
  proposed->candidate.source = shelf_->source(std::move(hashes), stored.files);
}

Result<void> SqliteStore::write_sources(
    const std::vector<std::pair<std::string, std::string_view>>& texts) {
  for (const auto& [hash, text] : texts) {
    CUCO_TRY_ASSIGN(sqlite3_stmt * insert, prepared(kInsertSource));
    bind_value(insert, 1, hash);
    sqlite3_bind_blob64(insert, 2, text.empty() ? "" : text.data(), text.size(), SQLITE_STATIC);
    CUCO_TRY(step(insert, "store a source"));
  }
  return {};
}

Result<std::string> SqliteStore::text_of(const std::string& hash) const {
  CUCO_TRY_ASSIGN(sqlite3_stmt * query, prepared(kSelectSource));
  bind_value(query, 1, hash);
  const bool found = sqlite3_step(query) == SQLITE_ROW;
  std::string text = found ? std::string(text_column(query, 0)) : std::string();
  sqlite3_reset(query);
  if (!found) return Error{ErrorKind::Protocol, fmt::format("source {} is missing", hash)};
  return text;
}

Result<void> SqliteStore::has_source(const std::string& hash) const {
  CUCO_TRY_ASSIGN(sqlite3_stmt * query, prepared(kHasSource));
  bind_value(query, 1, hash);
  const bool found = sqlite3_step(query) == SQLITE_ROW;
  sqlite3_reset(query);
  if (!found) return Error{ErrorKind::Protocol, fmt::format("source {} is missing", hash)};
  return {};
}

Result<void> SqliteStore::write_candidate(const CandidateSummary& candidate) {
  CUCO_TRY_ASSIGN(sqlite3_stmt * replace, prepared(kReplaceCandidate));
  sqlite3_bind_int(replace, 1, candidate.number);
  bind_value(replace, 2, candidate.parent);
  int column = 3;
  for (const std::string* text : {&candidate.proposer, &candidate.island, &candidate.phase,
                                  &candidate.directive, &candidate.because, &candidate.code_hash})
    bind_value(replace, column++, *text);
  bind_value(replace, column++, candidate.rung ? candidate::name(candidate.rung->target) : "");
  bind_value(replace, column++, candidate.rung ? candidate::name(candidate.rung->fidelity) : "");
  bind_value(replace, column++, candidate.verdict);
  bind_value(replace, column++, candidate.text);
  for (const double seconds :
       {candidate.seconds, candidate.baseline_seconds, candidate.bound_seconds})
    sqlite3_bind_double(replace, column++, seconds);
  bind_value(replace, column++, candidate.hardware);
  sqlite3_bind_double(replace, column, candidate.wall_seconds);
  return step(replace, "summarise a candidate");
}

Result<void> SqliteStore::write_summary(const Event& event) {
  const auto set = [&](const char* sql, auto&& bind_values) -> Result<void> {
    CUCO_TRY_ASSIGN(sqlite3_stmt * update, prepared(sql));
    bind_values(update);
    return step(update, "summarise the run");
  };
  if (const auto* started = std::get_if<candidate::RunStarted>(&event.body)) {
    return set(kStartRun, [&](sqlite3_stmt* update) {
      bind_value(update, 1, started->workload);
      bind_value(update, 2, started->target);
      bind_value(update, 3, started->hardware);
      sqlite3_bind_int64(update, 4, static_cast<std::int64_t>(started->seed));
      sqlite3_bind_int64(update, 5, event.time_ms);
    });
  }
  if (const auto* proposed = std::get_if<candidate::Proposed>(&event.body)) {
    CUCO_TRY(write_candidate(candidate::summary_of(*proposed)));
    return set(kSetFinished, [](sqlite3_stmt* update) { sqlite3_bind_null(update, 1); });
  }
  if (const auto* evaluated = std::get_if<candidate::Evaluated>(&event.body)) {
    CUCO_TRY_ASSIGN(sqlite3_stmt * query, prepared(kSelectCandidate));
    sqlite3_bind_int(query, 1, evaluated->candidate);
    const bool found = sqlite3_step(query) == SQLITE_ROW;
    CandidateSummary known = found ? candidate_row(query) : CandidateSummary{};
    sqlite3_reset(query);
    if (!found) return {};
    candidate::add_verdict(*evaluated, &known);
    return write_candidate(known);
  }
  if (const auto* best = std::get_if<candidate::BestChanged>(&event.body)) {
    return set(kSetBest,
               [&](sqlite3_stmt* update) { sqlite3_bind_int(update, 1, best->candidate); });
  }
  if (const auto* finished = std::get_if<candidate::RunFinished>(&event.body)) {
    return set(kSetFinished,
               [&](sqlite3_stmt* update) { bind_value(update, 1, finished->reason); });
  }
  return {};
}

Result<std::vector<Event>> SqliteStore::events(std::int64_t sequence) const {
  CUCO_TRY_ASSIGN(sqlite3_stmt * select, prepared(kSelectEvents));
  sqlite3_bind_int64(select, 1, sequence);
  // In files of version 1 there are no hashes to look up.
  FileHashes hashes;
  const auto text_of = [&](const std::string& hash) -> Result<std::string> {
    if (shelf_ == nullptr) return this->text_of(hash);
    // Only that it is there; it is read when somebody asks for it.
    hashes.emplace_back("", hash);
    CUCO_TRY(has_source(hash));
    return std::string();
  };
  std::vector<Event> events;
  int status = sqlite3_step(select);
  for (; status == SQLITE_ROW; status = sqlite3_step(select)) {
    hashes.clear();
    auto body = candidate::parse_event(text_column(select, 2), text_column(select, 3), text_of);
    const auto number = sqlite3_column_int64(select, 0);
    if (!body) {
      sqlite3_reset(select);
      return std::move(body).error().while_doing(fmt::format("store: event {}", number));
    }
    if (!hashes.empty()) {
      candidate::Candidate& made = std::get<candidate::Proposed>(*body).candidate;
      for (std::size_t i = 0; i < hashes.size(); ++i)
        hashes[i].first = made.source.files()[i].path;
      made.source = shelf_->source(std::move(hashes));
    }
    events.push_back({number, sqlite3_column_int64(select, 1), *std::move(body)});
  }
  sqlite3_reset(select);
  if (status != SQLITE_DONE) return failure("read");
  return events;
}

Result<RunSummary> SqliteStore::summary() const {
  if (version_ < kSchemaVersion) {  // read-only and old: there are no tables of it
    CUCO_TRY_ASSIGN(const std::vector<Event> all, events(0));
    return candidate::summarise(all);
  }
  RunSummary summary;
  CUCO_TRY_ASSIGN(sqlite3_stmt * run, prepared(kSelectRun));
  if (sqlite3_step(run) == SQLITE_ROW) {
    summary.workload = text_column(run, 0);
    summary.target = text_column(run, 1);
    summary.hardware = text_column(run, 2);
    summary.seed = static_cast<std::uint64_t>(sqlite3_column_int64(run, 3));
    summary.started_ms = sqlite3_column_int64(run, 4);
    summary.best = integer_column(run, 5);
    if (sqlite3_column_type(run, 6) != SQLITE_NULL) summary.finished = text_column(run, 6);
    summary.last_ms = sqlite3_column_int64(run, 7);
  }
  sqlite3_reset(run);
  CUCO_TRY_ASSIGN(sqlite3_stmt * rows, prepared(kSelectCandidates));
  int status = sqlite3_step(rows);
  for (; status == SQLITE_ROW; status = sqlite3_step(rows))
    summary.candidates.push_back(candidate_row(rows));
  sqlite3_reset(rows);
  if (status != SQLITE_DONE) return failure("read the summary");
  return summary;
}

}  // namespace cuco::store
