// SPDX-License-Identifier: Apache-2.0
#include "store/sqlite_store.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include "candidate/event_json.h"

namespace cuco::store {
namespace {

constexpr int kSchemaVersion = 1;
constexpr int kBusyMilliseconds = 5000;

std::string_view text_column(sqlite3_stmt* row, int column) {
  const auto* bytes = reinterpret_cast<const char*>(sqlite3_column_text(row, column));
  const auto length = static_cast<std::size_t>(sqlite3_column_bytes(row, column));
  return bytes == nullptr ? std::string_view() : std::string_view(bytes, length);
}

int bind_text(sqlite3_stmt* statement, int index, std::string_view text) {
  return sqlite3_bind_text64(statement, index, text.data(), text.size(), SQLITE_STATIC,
                             SQLITE_UTF8);
}

}  // namespace

Error SqliteStore::failure(std::string_view doing, ErrorKind kind) const {
  const char* why = database_ == nullptr ? "out of memory" : sqlite3_errmsg(database_);
  return {kind, fmt::format("store: {}: {}", doing, why)};
}

Result<void> SqliteStore::execute(const char* sql) {
  if (sqlite3_exec(database_, sql, nullptr, nullptr, nullptr) != SQLITE_OK) return failure(sql);
  return {};
}

Result<void> SqliteStore::prepare(const char* sql, sqlite3_stmt*& statement) {
  if (sqlite3_prepare_v3(database_, sql, -1, SQLITE_PREPARE_PERSISTENT, &statement, nullptr) !=
      SQLITE_OK) {
    return failure(sql);
  }
  return {};
}

Result<std::unique_ptr<SqliteStore>> SqliteStore::open(const system::Path& file,
                                                       OpenMode mode,
                                                       const Clock& clock) {
  std::unique_ptr<SqliteStore> store(new SqliteStore(clock));
  const int flags = mode == OpenMode::ReadOnly ? SQLITE_OPEN_READONLY
                                               : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
  if (sqlite3_open_v2(file.c_str(), &store->database_, flags | SQLITE_OPEN_NOMUTEX, nullptr) !=
      SQLITE_OK) {
    return store->failure(fmt::format("open '{}'", file.string()), ErrorKind::NotFound);
  }
  sqlite3_busy_timeout(store->database_, kBusyMilliseconds);
  if (mode == OpenMode::ReadWrite) {
    CUCO_TRY(store->execute("PRAGMA journal_mode=WAL"));
    CUCO_TRY(store->execute("PRAGMA synchronous=FULL"));
    CUCO_TRY(
        store->execute("CREATE TABLE IF NOT EXISTS events(sequence INTEGER PRIMARY KEY, "
                       "time_ms INTEGER NOT NULL, kind TEXT NOT NULL, body TEXT NOT NULL)"));
    CUCO_TRY(store->execute(fmt::format("PRAGMA user_version={}", kSchemaVersion).c_str()));
    CUCO_TRY(
        store->prepare("INSERT INTO events(time_ms, kind, body) VALUES(?, ?, ?)", store->insert_));
  }
  CUCO_TRY(store->prepare(
      "SELECT sequence, time_ms, kind, body FROM events WHERE sequence > ? ORDER BY sequence",
      store->select_));
  return store;
}

SqliteStore::~SqliteStore() {
  sqlite3_finalize(insert_);
  sqlite3_finalize(select_);
  sqlite3_close(database_);
}

Result<candidate::Event> SqliteStore::append(candidate::EventBody body) {
  if (insert_ == nullptr) return Error{ErrorKind::InvalidInput, "store: opened for reading only"};
  const auto now = std::chrono::duration_cast<std::chrono::milliseconds>(clock_.wall()).count();
  const auto json = candidate::to_json(body);
  sqlite3_bind_int64(insert_, 1, now);
  bind_text(insert_, 2, candidate::kind(body));
  bind_text(insert_, 3, json);
  const int status = sqlite3_step(insert_);
  sqlite3_reset(insert_);
  sqlite3_clear_bindings(insert_);
  if (status != SQLITE_DONE) return failure("append");
  return candidate::Event{sqlite3_last_insert_rowid(database_), now, std::move(body)};
}

Result<std::vector<candidate::Event>> SqliteStore::events(std::int64_t sequence) const {
  sqlite3_bind_int64(select_, 1, sequence);
  std::vector<candidate::Event> events;
  int status = sqlite3_step(select_);
  for (; status == SQLITE_ROW; status = sqlite3_step(select_)) {
    auto body = candidate::parse_event(text_column(select_, 2), text_column(select_, 3));
    const auto number = sqlite3_column_int64(select_, 0);
    if (!body) {
      sqlite3_reset(select_);
      return std::move(body).error().while_doing(fmt::format("store: event {}", number));
    }
    events.push_back({number, sqlite3_column_int64(select_, 1), *std::move(body)});
  }
  sqlite3_reset(select_);
  if (status != SQLITE_DONE) return failure("read");
  return events;
}

}  // namespace cuco::store
