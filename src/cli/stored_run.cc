// SPDX-License-Identifier: Apache-2.0
#include "cli/stored_run.h"

#include <ctime>

#include <fmt/format.h>

#include "base/text.h"
#include "store/sqlite_store.h"
#include "system/clock.h"

namespace cuco::cli {

Result<StoredRun> load_run(store::RunFolder folder) {
  const system::SystemClock clock;
  CUCO_TRY_ASSIGN(const auto store,
                  store::SqliteStore::open(folder.database(), store::OpenMode::ReadOnly, clock));
  CUCO_TRY_ASSIGN(const auto events, store->events(0));
  return StoredRun{std::move(folder), candidate::fold(events)};
}

Result<StoredRun> load_run(const Config& config, std::string_view name) {
  CUCO_TRY_ASSIGN(store::RunFolder folder, store::find_run(config.text("store.folder"), name));
  return load_run(std::move(folder));
}

Result<const candidate::Entry*> find_entry(const StoredRun& run, int number) {
  const auto& entries = run.state.entries;
  if (number < 0 || static_cast<std::size_t>(number) >= entries.size()) {
    return Error(ErrorKind::NotFound,
                 fmt::format("run {} has no candidate {}; it has 0 to {}", run.folder.name, number,
                             static_cast<int>(entries.size()) - 1));
  }
  return &entries[static_cast<std::size_t>(number)];
}

std::string time_text(const candidate::Scored& scored) {
  return human_seconds(scored.seconds) + (scored.predicted ? " predicted" : "");
}

std::string speedup_text(const candidate::Scored& scored) {
  if (scored.baseline_seconds <= 0 || scored.seconds <= 0) return "";
  return fmt::format("{:.2f}x", scored.baseline_seconds / scored.seconds);
}

std::string state_text(const StoredRun& run) {
  if (run.state.finished) return "finished: " + run.state.finished->reason;
  // Whoever works on a run holds its lock.
  return store::lock_run(run.folder) ? "stopped" : "running";
}

std::string date_text(std::int64_t milliseconds) {
  const std::time_t seconds = milliseconds / 1000;
  std::tm local{};
  localtime_r(&seconds, &local);
  char text[32];
  const std::size_t length = std::strftime(text, sizeof text, "%Y-%m-%d %H:%M", &local);
  return {text, length};
}

}  // namespace cuco::cli
