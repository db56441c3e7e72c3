// SPDX-License-Identifier: Apache-2.0
#include "dashboard/pages.h"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "report/page.h"
#include "report/progress.h"
#include "store/stored_run.h"

namespace cuco::dashboard {
namespace {

constexpr const char* kJsonType = "application/json";

report::ListedRun listed(store::StoredRun run) {
  return {run.folder.name, store::state_text(run), store::date_text(run.state.started_ms),
          std::move(run.state)};
}

/// Newest first, the demonstration last. A run that cannot be read (being made, damaged) is left
/// out: the others matter.
std::vector<report::ListedRun> list(const system::Path& root) {
  std::vector<store::RunFolder> folders;
  if (auto found = store::list_runs(root)) folders = *std::move(found);
  std::reverse(folders.begin(), folders.end());
  if (auto demo = store::find_run(root, "demo")) folders.push_back(*std::move(demo));
  std::vector<report::ListedRun> runs;
  for (store::RunFolder& folder : folders) {
    if (auto run = store::load_run(std::move(folder))) runs.push_back(listed(*std::move(run)));
  }
  return runs;
}

/// Without the folder: a browser has no use for paths of this machine.
Json run_json(const report::ListedRun& run) {
  Json object{{"run", run.name}, {"state", run.state}, {"started", run.when}};
  if (auto result = parse_json(report::result_json(run.run, run.name, ""))) {
    (*result)["result"].erase("folder");
    object.update((*result)["result"]);
  }
  return object;
}

Answer one_run(const system::Path& root, std::string_view name, bool as_json) {
  auto folder = store::find_run(root, name);
  if (!folder) {
    return as_json ? Answer{404, kJsonType, to_text(Json{{"error", folder.error().message()}})}
                   : Answer{404, Answer{}.type, report::problem_page(folder.error().message())};
  }
  auto run = store::load_run(*std::move(folder));
  if (!run) return {500, Answer{}.type, report::problem_page(run.error().message())};
  const auto shown = listed(*std::move(run));
  if (as_json) return {200, kJsonType, to_text(run_json(shown))};
  return {200, Answer{}.type,
          report::run_page(shown.run, {shown.name, shown.state, shown.state == "running"})};
}

}  // namespace

Answer answer(const system::Path& root, std::string_view path) {
  constexpr std::string_view kPage = "/runs/";
  constexpr std::string_view kApi = "/api/runs/";
  if (path == "/") return {200, Answer{}.type, report::index_page(list(root))};
  if (path.starts_with(kPage)) return one_run(root, path.substr(kPage.size()), false);
  if (path.starts_with(kApi)) return one_run(root, path.substr(kApi.size()), true);
  if (path == "/api/runs") {
    Json runs = Json::array();
    for (const auto& run : list(root))
      runs.push_back(run_json(run));
    return {200, kJsonType, to_text(runs)};
  }
  return {404, Answer{}.type, report::problem_page(fmt::format("no such page: {}", path))};
}

}  // namespace cuco::dashboard
