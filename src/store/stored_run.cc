// SPDX-License-Identifier: Apache-2.0
#include "store/stored_run.h"

#include <ctime>

#include "store/sqlite_store.h"
#include "system/os/system_clock.h"

namespace cuco::store {

Result<std::vector<candidate::Event>> load_events(const RunFolder& folder) {
  const system::SystemClock clock;
  CUCO_TRY_ASSIGN(const auto store,
                  SqliteStore::open(folder.database(), OpenMode::ReadOnly, clock));
  return store->events(0);
}

Result<StoredRun> load_run(RunFolder folder) {
  CUCO_TRY_ASSIGN(const auto events, load_events(folder));
  return StoredRun{std::move(folder), candidate::fold(events)};
}

Result<candidate::RunSummary> load_summary(const RunFolder& folder) {
  const system::SystemClock clock;
  CUCO_TRY_ASSIGN(const auto store,
                  SqliteStore::open(folder.database(), OpenMode::ReadOnly, clock));
  return store->summary();
}

std::string state_text(const StoredRun& run) {
  const auto& finished = run.state.finished;
  return state_text(run.folder, finished ? std::optional(finished->reason) : std::nullopt);
}

std::string state_text(const RunFolder& folder, const std::optional<std::string>& finished) {
  if (finished) return "finished: " + *finished;
  // Whoever works on a run holds its lock.
  return lock_run(folder) ? "stopped" : "running";
}

std::string date_text(std::int64_t milliseconds) {
  const std::time_t seconds = milliseconds / 1000;
  std::tm local{};
  localtime_r(&seconds, &local);
  char text[32];
  const std::size_t length = std::strftime(text, sizeof text, "%Y-%m-%d %H:%M", &local);
  return {text, length};
}

}  // namespace cuco::store
