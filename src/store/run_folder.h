// SPDX-License-Identifier: Apache-2.0
/// \file
/// Run folders: runs/0001, runs/0002, … each whole in itself, so that it can be copied or deleted.
///
///     runs/0003/events.db      the store
///     runs/0003/lock           held by the process that works on the run
///     runs/0003/best/          the winner, written when a run ends
///     runs/0003/timelines/     what candidates do when: 4.json, and 4.trace.json for trace viewers
///     runs/demo                the recorded run of `cuco demo`, the same inside
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "system/os/fd.h"
#include "system/os/files.h"

namespace cuco::store {

struct RunFolder {
  std::string name;  ///< "0003".
  system::Path path;

  [[nodiscard]] system::Path database() const { return path / "events.db"; }
  [[nodiscard]] system::Path best() const { return path / "best"; }
  [[nodiscard]] system::Path timeline(int candidate) const {
    return path / "timelines" / (std::to_string(candidate) + ".json");
  }
  [[nodiscard]] system::Path trace(int candidate) const {
    return path / "timelines" / (std::to_string(candidate) + ".trace.json");
  }
};

/// Makes the next free folder under `root`. Two processes never get the same one.
[[nodiscard]] Result<RunFolder> create_run(const system::Path& root);

/// "3", "0003", "last" or "demo"; NotFound names the runs there are.
[[nodiscard]] Result<RunFolder> find_run(const system::Path& root, std::string_view name);

/// All runs with numbers, oldest first. No root means no runs.
[[nodiscard]] Result<std::vector<RunFolder>> list_runs(const system::Path& root);

/// Where the demonstration is kept, whether it is there or not.
[[nodiscard]] RunFolder demo_run(const system::Path& root);

/// Marks this process as the one that works on the run until the descriptor is closed; Unavailable
/// if another process does.
[[nodiscard]] Result<system::Fd> lock_run(const RunFolder& run);

}  // namespace cuco::store
