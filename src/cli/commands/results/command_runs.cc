// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "base/text.h"
#include "cli/journey/run_lookup.h"
#include "cli/terminal/command.h"

namespace cuco::cli {
namespace {

struct ListedRun {
  store::RunFolder folder;
  candidate::RunSummary summary;

  /// Null: no candidate is faster than the seed.
  [[nodiscard]] const candidate::CandidateSummary* best() const {
    if (!summary.best) return nullptr;
    const auto& candidate = summary.candidates[static_cast<std::size_t>(*summary.best)];
    return candidate.seconds > 0 ? &candidate : nullptr;
  }
  [[nodiscard]] std::string state() const { return store::state_text(folder, summary.finished); }
};

bool is_predicted(const candidate::CandidateSummary& candidate) {
  return candidate.rung && candidate::is_predicted(candidate.rung->target);
}

class RunsCommand final : public Command {
 public:
  void declare(Arguments&) override {}

  Result<ExitCode> run(Context& context) override {
    const std::string& root = context.config.text("store.folder");
    CUCO_TRY_ASSIGN(auto folders, store::list_runs(root));
    Table table;
    Json list = Json::array();
    for (store::RunFolder& folder : folders) {
      CUCO_TRY_ASSIGN(auto summary, store::load_summary(folder));
      const ListedRun run{std::move(folder), std::move(summary)};
      list.push_back(as_json(run));
      table.row(as_row(run, context.terminal));
    }
    if (context.json) {
      context.terminal.write(to_text(list) + "\n");
    } else if (folders.empty()) {
      context.terminal.note("no runs in {}; start one with: cuco optimize WORKLOAD", root);
    } else {
      context.terminal.write(table.text());
    }
    return ExitCode::Done;
  }

 private:
  static std::string nothing_faster(const candidate::RunSummary& summary) {
    const bool is_judged = !summary.candidates.empty() && summary.candidates.front().seconds > 0;
    if (!is_judged) return "seed not judged yet";
    return summary.finished ? "none faster than the seed" : "none faster than the seed so far";
  }

  static std::vector<std::string> as_row(const ListedRun& run, const Terminal& terminal) {
    const candidate::RunSummary& summary = run.summary;
    const auto count = summary.candidates.size();
    const auto* best = run.best();
    return {terminal.styled(Style::Accent, run.folder.name),
            date_text(summary.started_ms),
            summary.workload,
            fmt::format("{} candidate{}", count, count == 1 ? "" : "s"),
            best != nullptr
                ? fmt::format("best #{} {}{} {:.2f}x", best->number, human_seconds(best->seconds),
                              is_predicted(*best) ? " predicted" : "",
                              best->baseline_seconds / best->seconds)
                : nothing_faster(summary),
            terminal.styled(Style::Dim, run.state())};
  }

  static Json as_json(const ListedRun& run) {
    const candidate::RunSummary& summary = run.summary;
    Json object = {{"run", run.folder.name},
                   {"workload", summary.workload},
                   {"started_ms", summary.started_ms},
                   {"candidates", summary.candidates.size()},
                   {"state", run.state()}};
    if (const auto* best = run.best()) {
      object["best"] = {{"candidate", best->number},
                        {"seconds", best->seconds},
                        {"baseline_seconds", best->baseline_seconds},
                        {"predicted", is_predicted(*best)},
                        {"hardware", best->hardware}};
    }
    return object;
  }
};

}  // namespace

std::unique_ptr<Command> make_runs_command() {
  return std::make_unique<RunsCommand>();
}

}  // namespace cuco::cli
