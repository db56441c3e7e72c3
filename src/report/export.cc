// SPDX-License-Identifier: Apache-2.0
#include "report/export.h"

#include <filesystem>
#include <map>
#include <optional>

#include <fmt/format.h>

#include "base/assert.h"
#include "program/diff.h"
#include "report/progress.h"

namespace cuco::report {

std::optional<std::string_view> resource(std::string_view name);

namespace {

/// Continues behind each inserted value: a value may itself contain "{{…}}".
std::string filled(std::string_view name, const std::map<std::string, std::string>& values) {
  std::string text(*resource(name));
  for (const auto& [key, value] : values) {
    const auto place = "{{" + key + "}}";
    for (auto at = text.find(place); at != std::string::npos; at = text.find(place, at)) {
      text.replace(at, place.size(), value);
      at += value.size();
    }
  }
  return text;
}

}  // namespace

std::vector<program::File> export_folder(const candidate::RunState& state,
                                         candidate::Number number,
                                         std::string_view run,
                                         std::string_view workload_header) {
  const auto& entry = state.entries[static_cast<std::size_t>(number)];
  const auto& candidate = entry.candidate;
  CUCO_ASSERT(!candidate.source.empty());
  const auto workload = state.started ? state.started->workload : std::string("?");
  auto name = std::filesystem::path(workload).filename().string();
  if (name.empty()) name = std::filesystem::path(workload).parent_path().filename().string();
  std::string time = "not timed";
  if (const auto* scored = entry.scored()) {
    time = fmt::format("{} on {}, {:.2f}x the seed", time_text(*scored), scored->hardware,
                       scored->baseline_seconds / scored->seconds);
  }
  const std::map<std::string, std::string> values{
      {"name", name},
      {"run", std::string(run)},
      {"number", std::to_string(number)},
      {"workload", workload},
      {"directive", design::to_text(candidate.directive)},
      {"time", time},
      {"verdict", entry.latest() == nullptr ? "not judged" : candidate::summary(*entry.latest())},
      {"hash", candidate.code_hash},
      {"because", candidate.lineage.because}};
  std::vector<program::File> files = candidate.source.files();
  files.push_back({"changes.diff", program::unified_diff(state.entries.front().candidate.source,
                                                         candidate.source)});
  files.push_back({"README.md", filled("README.md", values)});
  files.push_back({"Makefile", filled("Makefile", values)});
  files.push_back({"include/cuco/workload.h", std::string(workload_header)});
  return files;
}

}  // namespace cuco::report
