// SPDX-License-Identifier: Apache-2.0
#include "dashboard/answers.h"

#include <algorithm>
#include <charconv>
#include <filesystem>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "dashboard/run_json.h"
#include "knowledge/knowledge.h"
#include "report/page.h"
#include "report/timeline/rank_timeline.h"
#include "store/stored_run.h"

namespace cuco::dashboard {
namespace {

Answer json_answer(const Result<Json>& json) {
  constexpr const char* kType = "application/json";
  if (json) return {200, kType, to_text(*json)};
  const int status = json.error().kind() == ErrorKind::NotFound ? 404 : 500;
  return {status, kType, to_text(Json{{"error", json.error().message()}})};
}

/// Newest first, the demonstration last.
std::vector<store::RunFolder> shown_runs(const Site& site) {
  std::vector<store::RunFolder> folders;
  if (auto found = store::list_runs(site.root)) folders = *std::move(found);
  std::ranges::reverse(folders);
  if (auto demo = store::find_run(site.root, "demo")) folders.push_back(*std::move(demo));
  std::erase_if(folders,
                [&](const auto& folder) { return !find_shown(site, folder.name).has_value(); });
  return folders;
}

/// A run that cannot be read (being made, damaged) is left out: the others matter.
Result<Json> runs_json(const Site& site) {
  Json list = Json::array();
  for (const store::RunFolder& folder : shown_runs(site)) {
    const auto reader = store::RunReader::open(folder);
    if (!reader) continue;
    if (auto head = head_json(folder, *reader)) list.push_back(*std::move(head));
  }
  return list;
}

Result<Json> candidates_json(const store::RunFolder& folder, const store::RunReader& reader) {
  // The rows are read after the sequence: what comes in between is sent twice, never lost.
  CUCO_TRY_ASSIGN(const store::RunOverview run, reader.overview());
  CUCO_TRY_ASSIGN(const auto list, reader.candidates());
  Json object = rows_json(list);
  object["sequence"] = run.sequence;
  object["best"] = nullptr;
  if (run.summary.best) object["best"] = *run.summary.best;
  object["state"] = store::state_text(folder, run.summary.finished);
  return object;
}

Result<Json> timeline_json(const store::RunFolder& folder) {
  auto text = system::read_file(folder.path / "timeline.json", 64U << 20U);
  if (!text) {
    return Error{
        ErrorKind::NotFound,
        fmt::format("no timeline was recorded; record one with: cuco report {}", folder.name)};
  }
  CUCO_TRY_ASSIGN(const auto timeline, report::parse_timeline(*text));
  return parse_json(report::to_json(timeline));
}

Result<Json> knowledge_json(const Site& site) {
  Json list = Json::array();
  const system::Path file = site.root / "knowledge.json";
  std::error_code code;
  if (std::filesystem::exists(file, code)) {
    CUCO_TRY_ASSIGN(const std::string text, system::read_file(file));
    CUCO_TRY_ASSIGN(const auto known, knowledge::Knowledge::parse(text));
    for (const auto& [key, lesson] : known.lessons()) {
      list.push_back({{"situation", key.first},
                      {"move", key.second},
                      {"tries", lesson.tries},
                      {"correct", lesson.correct},
                      {"expected", lesson.expected()},
                      {"confidence", lesson.confidence()},
                      {"measured", lesson.measured.count > 0},
                      {"example", lesson.example}});
    }
  }
  return Json{{"lessons", std::move(list)}};
}

Error no_such(std::string_view path) {
  return {ErrorKind::NotFound, fmt::format("no such page: {}", path)};
}

/// Digits and nothing else.
std::optional<int> number_in(std::string_view text) {
  int number = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  return whole && number >= 0 ? std::optional(number) : std::nullopt;
}

Result<Json> run_answer(const Site& site, const std::vector<std::string_view>& parts) {
  CUCO_TRY_ASSIGN(const store::RunFolder folder, find_shown(site, parts[0]));
  const std::string_view what = parts.size() > 1 ? parts[1] : "";
  if (what == "timeline" && parts.size() == 2) return timeline_json(folder);
  CUCO_TRY_ASSIGN(const store::RunReader reader, store::RunReader::open(folder));
  if (parts.size() == 1) return detail_json(folder, reader);
  if (what == "candidates" && parts.size() == 2) return candidates_json(folder, reader);
  if (what == "cost" && parts.size() == 2) return cost_json(reader, 0);
  if (what == "archive" && parts.size() == 2) return archive_json(reader);
  const auto number = parts.size() == 3 ? number_in(parts[2]) : std::nullopt;
  if (what == "candidates" && number) return candidate_json(reader, *number);
  if (what == "cost" && number) return cost_json(reader, static_cast<std::size_t>(*number));
  return no_such(join(std::vector<std::string>(parts.begin(), parts.end()), "/"));
}

/// The same without scripts, for machines without npm.
Answer plain_page(const Site& site, std::string_view path) {
  constexpr std::string_view kRuns = "/runs/";
  const auto listed = [](store::StoredRun run) {
    return report::ListedRun{run.folder.name, store::state_text(run),
                             store::date_text(run.state.started_ms), std::move(run.state)};
  };
  if (path == "/") {
    std::vector<report::ListedRun> runs;
    for (store::RunFolder& folder : shown_runs(site)) {
      if (auto run = store::load_run(std::move(folder))) runs.push_back(listed(*std::move(run)));
    }
    return {200, Answer{}.type, report::index_page(runs)};
  }
  if (!path.starts_with(kRuns))
    return {404, Answer{}.type, report::problem_page(no_such(path).message())};
  auto folder = find_shown(site, path.substr(kRuns.size()));
  if (!folder) return {404, Answer{}.type, report::problem_page(folder.error().message())};
  auto run = store::load_run(*std::move(folder));
  if (!run) return {500, Answer{}.type, report::problem_page(run.error().message())};
  const auto shown = listed(*std::move(run));
  return {200, Answer{}.type,
          report::run_page(shown.run, {shown.name, shown.state, shown.state == "running"})};
}

}  // namespace

Result<store::RunFolder> find_shown(const Site& site, std::string_view name) {
  CUCO_TRY_ASSIGN(store::RunFolder folder, store::find_run(site.root, name));
  if (!site.runs.empty() && std::ranges::find(site.runs, folder.name) == site.runs.end())
    return Error{ErrorKind::NotFound, fmt::format("run {} is not shown here", folder.name)};
  return folder;
}

Answer answer(const Site& site, std::string_view path) {
  constexpr std::string_view kApi = "/api/";
  constexpr std::string_view kRun = "/api/runs/";
  if (path == "/api/runs") return json_answer(runs_json(site));
  if (path == "/api/knowledge") return json_answer(knowledge_json(site));
  if (path.starts_with(kRun))
    return json_answer(run_answer(site, split(path.substr(kRun.size()), '/')));
  if (path.starts_with(kApi)) return json_answer(no_such(path));
  if (const WebFile* file = site.web.find(path)) return {200, file->type, file->bytes};
  if (path.starts_with("/assets/")) return {404, "text/plain", "no such file"};
  // The page itself tells addresses apart.
  if (const WebFile* page = site.web.find("/index.html")) return {200, page->type, page->bytes};
  return plain_page(site, path);
}

Result<std::optional<Change>> change_since(const store::RunFolder& folder, std::int64_t sequence) {
  CUCO_TRY_ASSIGN(const store::RunReader reader, store::RunReader::open(folder));
  CUCO_TRY_ASSIGN(const store::RunOverview run, reader.overview());
  if (run.sequence <= sequence) return std::optional<Change>();
  CUCO_TRY_ASSIGN(const auto numbers, reader.changed_since(sequence));
  std::vector<candidate::CandidateSummary> list;
  for (const candidate::Number number : numbers) {
    CUCO_TRY_ASSIGN(auto one, reader.candidate(number));
    if (one) list.push_back(*std::move(one));
  }
  Json object = rows_json(list);
  object["sequence"] = run.sequence;
  object["best"] = nullptr;
  if (run.summary.best) object["best"] = *run.summary.best;
  object["state"] = store::state_text(folder, run.summary.finished);
  return std::optional(Change{run.sequence, to_text(object)});
}

}  // namespace cuco::dashboard
