// SPDX-License-Identifier: Apache-2.0
/// \file
/// The store on disk: one SQLite file a run, one row an event. Schema 2:
///
///     events(sequence, time_ms, kind, body)   the truth; body is JSON (candidate/event_json.h)
///     sources(hash, text)                     what the events' hashes stand for
///     run(…)  candidates(number, …)           candidate/run_summary.h, kept in step with the
///     events
///
/// Any tool can read a run. Write-ahead log with a sync per append: an event that was acknowledged
/// survives kill -9 and a power cut, with its sources and its part of the summary. user_version is
/// the schema's version; files of older versions are brought up when they are opened for writing,
/// files of newer ones are refused.
#pragma once

#include <map>
#include <memory>

#include "base/clock.h"
#include "candidate/event_json.h"
#include "candidate/run_summary.h"
#include "candidate/store.h"
#include "store/source_shelf.h"
#include "system/os/files.h"

struct sqlite3;
struct sqlite3_stmt;

namespace cuco::store {

enum class OpenMode {
  /// Creates what is missing. Texts of sources stay in the file (source_shelf.h): a run goes on
  /// with
  /// what append() and events() return, and need not keep them.
  ReadWrite,
  ReadOnly,  ///< Beside a running writer; append() fails.
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
  [[nodiscard]] Result<candidate::RunSummary> summary() const override;

 private:
  explicit SqliteStore(const Clock& clock) : clock_(clock) {}
  /// Brings the file to the present schema, or says why not.
  Result<void> migrate();
  Result<void> migrate_from_1();
  Result<int> version() const;
  [[nodiscard]] Result<void> execute(const char* sql) const;
  /// A statement, prepared once.
  [[nodiscard]] Result<sqlite3_stmt*> prepared(const char* sql) const;
  /// Runs a statement that gives no rows, and makes it ready for the next time.
  [[nodiscard]] Result<void> step(sqlite3_stmt* statement, std::string_view doing) const;
  Result<void> write_sources(const std::vector<std::pair<std::string, std::string_view>>& texts);
  /// The event's part of the summary tables.
  Result<void> write_summary(const candidate::Event& event);
  Result<void> write_candidate(const candidate::CandidateSummary& candidate);
  [[nodiscard]] Result<std::string> text_of(const std::string& hash) const;
  [[nodiscard]] Result<void> has_source(const std::string& hash) const;
  /// Puts the event's texts away.
  void shelve(candidate::EventBody* body, const candidate::StoredEvent& stored);
  [[nodiscard]] Error failure(std::string_view doing, ErrorKind kind = ErrorKind::Io) const;

  const Clock& clock_;
  sqlite3* database_ = nullptr;
  bool writable_ = false;
  std::shared_ptr<SourceShelf> shelf_;  ///< Null where it is read only.
  int version_ = 0;
  mutable std::map<const char*, sqlite3_stmt*> statements_;  ///< By the address of their text.
};

}  // namespace cuco::store
