// SPDX-License-Identifier: Apache-2.0
#include "store/maintenance.h"

#include <filesystem>
#include <memory>

#include <fmt/format.h>
#include <sqlite3.h>

#include "candidate/run_state.h"
#include "candidate/run_summary.h"
#include "store/sqlite_store.h"
#include "system/os/system_clock.h"

namespace cuco::store {
namespace {

struct Close {
  void operator()(sqlite3* database) const { sqlite3_close(database); }
};
using Database = std::unique_ptr<sqlite3, Close>;

Result<Database> open_raw(const system::Path& file, int flags) {
  sqlite3* opened = nullptr;
  const int status = sqlite3_open_v2(file.c_str(), &opened, flags, nullptr);
  Database database(opened);
  if (status == SQLITE_OK) return database;
  return Error{ErrorKind::NotFound, fmt::format("store: open '{}'", file.string())};
}

/// SQLite's own words, one row each; "ok" where nothing is wrong.
int take_row(void* list, int columns, char** values, char** /*names*/) {
  if (columns > 0 && values[0] != nullptr && std::string_view(values[0]) != "ok")
    static_cast<std::vector<std::string>*>(list)->emplace_back(values[0]);
  return 0;
}

void check_order(const std::vector<candidate::Event>& events, std::vector<std::string>* problems) {
  candidate::Number candidates = 0;
  for (std::size_t i = 0; i < events.size(); ++i) {
    const auto expected = static_cast<std::int64_t>(i) + 1;
    if (events[i].sequence != expected) {
      problems->push_back(
          fmt::format("event {} stands where {} should be", events[i].sequence, expected));
      return;
    }
    const auto* proposed = std::get_if<candidate::Proposed>(&events[i].body);
    if (proposed == nullptr) continue;
    if (proposed->candidate.number != candidates) {
      problems->push_back(fmt::format("event {}: candidate #{} came as number {}", expected,
                                      proposed->candidate.number, candidates));
    }
    ++candidates;
  }
}

std::uint64_t size_of(const RunFolder& folder) {
  std::uint64_t bytes = 0;
  for (const char* suffix : {"", "-wal"}) {
    std::error_code missing;
    const auto size = std::filesystem::file_size(folder.database().string() + suffix, missing);
    if (!missing) bytes += size;
  }
  return bytes;
}

}  // namespace

Result<Verified> verify(const RunFolder& folder) {
  Verified verified;
  {
    CUCO_TRY_ASSIGN(const Database database, open_raw(folder.database(), SQLITE_OPEN_READONLY));
    if (sqlite3_exec(database.get(), "PRAGMA integrity_check", take_row, &verified.problems,
                     nullptr) != SQLITE_OK) {
      verified.problems.emplace_back(sqlite3_errmsg(database.get()));
    }
  }
  if (!verified.problems.empty()) return verified;
  const system::SystemClock clock;
  CUCO_TRY_ASSIGN(const auto store,
                  SqliteStore::open(folder.database(), OpenMode::ReadOnly, clock));
  const auto events = store->events(0);
  if (!events) {
    verified.problems.push_back(events.error().message());
    return verified;
  }
  verified.events = static_cast<std::int64_t>(events->size());
  check_order(*events, &verified.problems);
  const auto summary = store->summary();
  if (!summary) {
    verified.problems.push_back(summary.error().message());
  } else if (!(*summary == candidate::summarise(*events))) {
    verified.problems.emplace_back("the summary tables are not what the events add up to");
  }
  return verified;
}

Result<Vacuumed> vacuum(const RunFolder& folder) {
  CUCO_TRY_ASSIGN(const system::Fd lock, lock_run(folder));
  Vacuumed made{.before = size_of(folder)};
  {
    CUCO_TRY_ASSIGN(const Database database, open_raw(folder.database(), SQLITE_OPEN_READWRITE));
    for (const char* sql :
         {"PRAGMA wal_checkpoint(TRUNCATE)", "VACUUM", "PRAGMA wal_checkpoint(TRUNCATE)"}) {
      if (sqlite3_exec(database.get(), sql, nullptr, nullptr, nullptr) != SQLITE_OK) {
        return Error{ErrorKind::Io,
                     fmt::format("store: {}: {}", sql, sqlite3_errmsg(database.get()))};
      }
    }
  }
  made.after = size_of(folder);
  return made;
}

}  // namespace cuco::store
