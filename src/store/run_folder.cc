// SPDX-License-Identifier: Apache-2.0
#include "store/run_folder.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include <fmt/format.h>

namespace cuco::store {
namespace {

std::optional<int> run_number(std::string_view name) {
  int value = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), value);
  const bool whole = error == std::errc() && end == name.data() + name.size();
  return whole && value > 0 ? std::optional(value) : std::nullopt;
}

RunFolder folder(const system::Path& root, int number) {
  const auto name = fmt::format("{:04}", number);
  return {name, root / name};
}

}  // namespace

Result<std::vector<RunFolder>> list_runs(const system::Path& root) {
  std::vector<RunFolder> runs;
  std::error_code error;
  for (std::filesystem::directory_iterator at(root, error), end; !error && at != end;
       at.increment(error)) {
    const auto name = at->path().filename().string();
    // A folder without a store is one whose maker was killed before it began.
    const RunFolder run{name, at->path()};
    if (run_number(name) && std::filesystem::exists(run.database(), error)) runs.push_back(run);
  }
  if (error && error != std::errc::no_such_file_or_directory) {
    return Error{ErrorKind::Io, fmt::format("list '{}': {}", root.string(), error.message())};
  }
  std::sort(runs.begin(), runs.end(), [](const RunFolder& a, const RunFolder& b) {
    return *run_number(a.name) < *run_number(b.name);
  });
  return runs;
}

Result<RunFolder> create_run(const system::Path& root) {
  CUCO_TRY(system::make_folder(root));
  CUCO_TRY_ASSIGN(const std::vector<RunFolder> runs, list_runs(root));
  const int first = runs.empty() ? 1 : *run_number(runs.back().name) + 1;
  constexpr int kTries = 1000;
  for (int number = first; number < first + kTries; ++number) {
    const auto made = folder(root, number);
    std::error_code error;
    // mkdir is atomic: whoever made it owns the number.
    if (std::filesystem::create_directory(made.path, error)) return made;
    if (error) {
      return Error{ErrorKind::Io,
                   fmt::format("create '{}': {}", made.path.string(), error.message())};
    }
  }
  return Error{ErrorKind::Io, fmt::format("no free run number under '{}'", root.string())};
}

RunFolder demo_run(const system::Path& root) {
  return {"demo", root / "demo"};
}

Result<RunFolder> find_run(const system::Path& root, std::string_view name) {
  if (name == "demo") {
    RunFolder demo = demo_run(root);
    if (std::filesystem::exists(demo.database())) return demo;
    return Error{ErrorKind::NotFound, "no run 'demo' yet; create it with: cuco demo"};
  }
  CUCO_TRY_ASSIGN(const std::vector<RunFolder> runs, list_runs(root));
  if (runs.empty()) {
    return Error{
        ErrorKind::NotFound,
        fmt::format("no runs in '{}'; start one with: cuco optimize WORKLOAD", root.string())};
  }
  if (name == "last") return runs.back();
  const auto wanted = run_number(name);
  const auto found = std::find_if(runs.begin(), runs.end(), [&](const RunFolder& run) {
    return run_number(run.name) == wanted;
  });
  if (!wanted || found == runs.end()) {
    return Error{ErrorKind::NotFound, fmt::format("no run '{}'; runs are {} to {}", name,
                                                  runs.front().name, runs.back().name)};
  }
  return *found;
}

Result<system::Fd> lock_run(const RunFolder& run) {
  auto lock = system::lock_file(run.path / "lock");
  if (!lock && lock.error().kind() == ErrorKind::Unavailable) {
    return Error{ErrorKind::Unavailable,
                 fmt::format("run {} is in use by another process", run.name)};
  }
  return lock;
}

}  // namespace cuco::store
