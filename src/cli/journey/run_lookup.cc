// SPDX-License-Identifier: Apache-2.0
#include "cli/journey/run_lookup.h"

#include <fmt/format.h>

#include "base/text.h"

namespace cuco::cli {

Result<StoredRun> load_run(const Config& config, std::string_view name) {
  CUCO_TRY_ASSIGN(store::RunFolder folder, store::find_run(config.text("store.folder"), name));
  return store::load_run(std::move(folder));
}

Result<const candidate::Entry*> find_entry(const StoredRun& run, int number) {
  const auto& entries = run.state.entries;
  if (number < 0 || static_cast<std::size_t>(number) >= entries.size()) {
    return Error(ErrorKind::NotFound,
                 fmt::format("run {} has no candidate {}; valid numbers are 0 to {}",
                             run.folder.name, number, static_cast<int>(entries.size()) - 1));
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

}  // namespace cuco::cli
