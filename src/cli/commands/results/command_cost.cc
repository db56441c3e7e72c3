// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "cli/journey/run_lookup.h"
#include "cli/terminal/command.h"
#include "report/cost.h"

namespace cuco::cli {
namespace {

using report::Costs;
using report::Sum;

class CostCommand final : public Command {
 public:
  void declare(Arguments& arguments) override {
    arguments.positional("RUN", run_, "number of the run, or 'last'")
        .completes(Completion::Nothing);
    arguments.flag("--candidates", candidates_, "list every candidate");
  }

  Result<ExitCode> run(Context& context) override {
    CUCO_TRY_ASSIGN(const StoredRun run, load_run(context.config, run_));
    CUCO_TRY_ASSIGN(const auto events, store::load_events(run.folder));
    const Costs costs = report::costs_of(events);
    context.terminal.write(context.json ? as_json(run, costs)
                                        : as_text(context.terminal, run, costs));
    return ExitCode::Done;
  }

 private:
  static std::vector<std::string> row(const std::string& what, const Sum& sum) {
    return {what,
            fmt::format("{} call{}", sum.calls, sum.calls == 1 ? "" : "s"),
            fmt::format("{} in", sum.prompt),
            fmt::format("{} cached", sum.cached),
            fmt::format("{} out", sum.answer),
            fmt::format("{} reasoning", sum.reasoning),
            sum.price()};
  }

  [[nodiscard]] std::string as_text(const Terminal& terminal,
                                    const StoredRun& run,
                                    const Costs& costs) const {
    if (costs.all.calls == 0 && costs.open.empty()) {
      return fmt::format("run {} asked no model\n", run.folder.name);
    }
    Table table;
    table.row(row(terminal.styled(Style::Bold, "run " + run.folder.name), costs.all));
    for (const auto& [model, sum] : costs.by_model)
      table.row(row("  " + model, sum));
    for (const auto& [role, sum] : costs.by_role)
      table.row(row("  role " + role, sum));
    if (candidates_) {
      for (const auto& [number, sum] : costs.by_candidate)
        table.row(row(number < 0 ? "  no candidate" : fmt::format("  #{}", number), sum));
    }
    std::string text = table.text();
    if (costs.all.lost > 0) {
      text += fmt::format("broken attempts: {} more tokens, part of the price\n", costs.all.lost);
    }
    if (!costs.open.empty()) {
      std::int64_t tokens = 0;
      for (const auto& [question, reserved] : costs.open)
        tokens += reserved;
      text +=
          fmt::format("cut off: {} call{} without an answer, at most {} tokens, not in the sums\n",
                      costs.open.size(), costs.open.size() == 1 ? "" : "s", tokens);
    }
    if (costs.all.unpriced < costs.all.calls)
      text += terminal.styled(Style::Dim, "prices: models.toml when the calls were made\n");
    return text;
  }

  static std::string as_json(const StoredRun& run, const Costs& costs) {
    Json object = costs.json();
    object["run"] = run.folder.name;
    return to_text(object) + "\n";
  }

  std::string run_;
  bool candidates_ = false;
};

}  // namespace

std::unique_ptr<Command> make_cost_command() {
  return std::make_unique<CostCommand>();
}

}  // namespace cuco::cli
