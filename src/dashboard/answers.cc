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

constexpr const char* kJson = "application/json";
constexpr std::string_view kRun = "/api/runs/";

Answer json_answer(const Result<Json>& json) {
  if (json) return {200, kJson, to_text(*json)};
  const int status = json.error().kind() == ErrorKind::NotFound ? 404 : 500;
  return {status, kJson, to_text(Json{{"error", json.error().message()}})};
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

Result<Json> timeline_json(const store::RunFolder& folder, candidate::Number number) {
  auto text = system::read_file(folder.timeline(number), 64U << 20U);
  if (!text) {
    return Error{ErrorKind::NotFound,
                 fmt::format("the timeline of #{0} was not recorded; record it with: cuco report "
                             "{1} --record {0}",
                             number, folder.name)};
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

/// NAME, "candidates", NUMBER, "timeline".
bool is_timeline(const std::vector<std::string_view>& parts) {
  return parts.size() == 4 && parts[1] == "candidates" && parts[3] == "timeline" &&
         number_in(parts[2]);
}

Result<Json> run_answer(const Site& site, const std::vector<std::string_view>& parts) {
  CUCO_TRY_ASSIGN(const store::RunFolder folder, find_shown(site, parts[0]));
  const std::string_view what = parts.size() > 1 ? parts[1] : "";
  if (is_timeline(parts)) return timeline_json(folder, *number_in(parts[2]));
  CUCO_TRY_ASSIGN(const store::RunReader reader, store::RunReader::open(folder));
  if (parts.size() == 1) return detail_json(folder, reader);
  if (what == "candidates" && parts.size() == 2) return candidates_json(folder, reader);
  if (what == "cost" && parts.size() == 2) return cost_json(reader, 0);
  if (what == "archive" && parts.size() == 2) return archive_json(reader);
  const auto number = parts.size() == 3 ? number_in(parts[2]) : std::nullopt;
  if (what == "candidates" && number) return candidate_json(folder, reader, *number);
  if (what == "cost" && number) return cost_json(reader, static_cast<std::size_t>(*number));
  return no_such(join(std::vector<std::string>(parts.begin(), parts.end()), "/"));
}

/// The run of a candidate that a timeline can be recorded of.
Result<store::RunFolder> timed(const Site& site, std::string_view run, candidate::Number number) {
  CUCO_TRY_ASSIGN(store::RunFolder folder, find_shown(site, run));
  CUCO_TRY_ASSIGN(const store::RunReader reader, store::RunReader::open(folder));
  CUCO_TRY_ASSIGN(const auto found, reader.candidate(number));
  if (!found)
    return Error{ErrorKind::NotFound, fmt::format("the run has no candidate #{}", number)};
  const bool is_timed = found->seconds > 0 && found->rung;
  if (!is_timed || !candidate::is_predicted(found->rung->target)) {
    return Error{ErrorKind::NotFound,
                 fmt::format("#{} has no timeline: only what passed on virtual GPUs has", number)};
  }
  return folder;
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

bool takes_post(std::string_view path) {
  return path.starts_with(kRun) && is_timeline(split(path.substr(kRun.size()), '/'));
}

Answer answer_post(const Site& site, std::string_view path, Recorder& recorder) {
  if (!takes_post(path)) return json_answer(no_such(path));
  const auto parts = split(path.substr(kRun.size()), '/');
  auto folder = timed(site, parts[0], *number_in(parts[2]));
  if (!folder) return json_answer(folder.error());
  if (auto begun = recorder.start(folder->name, *number_in(parts[2])); !begun)
    return {409, kJson, to_text(Json{{"error", begun.error().message()}})};
  return {202, kJson, to_text(recorder.state())};
}

Answer recording(const Recorder& recorder) {
  return json_answer(recorder.state());
}

Answer answer(const Site& site, std::string_view path) {
  constexpr std::string_view kApi = "/api/";
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
