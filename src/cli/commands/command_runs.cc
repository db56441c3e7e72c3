// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "cli/journey/run_lookup.h"
#include "cli/terminal/command.h"

namespace cuco::cli {
namespace {

const candidate::Scored* best_of(const candidate::RunState& state) {
  return state.best ? state.entries[static_cast<std::size_t>(*state.best)].scored() : nullptr;
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
      CUCO_TRY_ASSIGN(const StoredRun run, load_run(std::move(folder)));
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
  static std::vector<std::string> as_row(const StoredRun& run, const Terminal& terminal) {
    const candidate::RunState& state = run.state;
    const candidate::Scored* best = best_of(state);
    return {terminal.styled(Style::Accent, run.folder.name),
            date_text(state.started_ms),
            state.started ? state.started->workload : "",
            fmt::format("{} candidates", state.entries.size()),
            best != nullptr
                ? fmt::format("best #{} {} {}", *state.best, time_text(*best), speedup_text(*best))
                : "nothing correct yet",
            terminal.styled(Style::Dim, state_text(run))};
  }

  static Json as_json(const StoredRun& run) {
    const candidate::RunState& state = run.state;
    Json object = {{"run", run.folder.name},
                   {"workload", state.started ? state.started->workload : ""},
                   {"started_ms", state.started_ms},
                   {"candidates", state.entries.size()},
                   {"state", state_text(run)}};
    if (const candidate::Scored* best = best_of(state)) {
      object["best"] = {{"candidate", *state.best},
                        {"seconds", best->seconds},
                        {"baseline_seconds", best->baseline_seconds},
                        {"predicted", best->predicted},
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
