// SPDX-License-Identifier: Apache-2.0
/// \file
/// The store on disk: one SQLite file a run, one row an event.
///
///     events(sequence INTEGER PRIMARY KEY, time_ms INTEGER, kind TEXT, body TEXT)
///
/// `body` is JSON (candidate/event_json.h), so that any tool can read a run. Write-ahead log with a
/// sync per append: an event that was acknowledged survives kill -9 and a power cut. user_version
/// is the schema's version.
#pragma once

#include <memory>

#include "base/clock.h"
#include "candidate/store.h"
#include "system/os/files.h"

struct sqlite3;
struct sqlite3_stmt;

namespace cuco::store {

enum class OpenMode {
  ReadWrite,  ///< Creates what is missing.
  ReadOnly,   ///< Beside a running writer; append() fails.
};

class SqliteStore final : public candidate::CandidateStore {
 public:
  /// `clock` must outlive the store.
  [[nodiscard]] static Result<std::unique_ptr<SqliteStore>> open(const system::Path& file,
                                                                 OpenMode mode,
                                                                 const Clock& clock);
  SqliteStore(const SqliteStore&) = delete;
  SqliteStore& operator=(const SqliteStore&) = delete;
  ~SqliteStore() override;

  Result<candidate::Event> append(candidate::EventBody body) override;
  [[nodiscard]] Result<std::vector<candidate::Event>> events(std::int64_t sequence) const override;

 private:
  explicit SqliteStore(const Clock& clock) : clock_(clock) {}
  [[nodiscard]] Result<void> execute(const char* sql);
  [[nodiscard]] Result<void> prepare(const char* sql, sqlite3_stmt*& statement);
  [[nodiscard]] Error failure(std::string_view doing, ErrorKind kind = ErrorKind::Io) const;

  const Clock& clock_;
  sqlite3* database_ = nullptr;
  sqlite3_stmt* insert_ = nullptr;
  sqlite3_stmt* select_ = nullptr;
};

}  // namespace cuco::store
