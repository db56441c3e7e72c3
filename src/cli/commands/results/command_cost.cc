// SPDX-License-Identifier: Apache-2.0
#include <map>
#include <optional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "cli/journey/run_lookup.h"
#include "cli/terminal/command.h"

namespace cuco::cli {
namespace {

using candidate::Exchange;

/// What calls took together.
struct Sum {
  int calls = 0;
  std::int64_t prompt = 0, answer = 0, cached = 0, reasoning = 0, lost = 0;
  double dollars = 0;
  int unpriced = 0;  ///< Calls whose price nobody knows.
  double seconds = 0;

  void add(const Exchange& exchange) {
    ++calls;
    prompt += exchange.prompt_tokens;
    answer += exchange.answer_tokens;
    cached += exchange.cached_tokens;
    reasoning += exchange.reasoning_tokens;
    lost += exchange.lost_tokens;
    seconds += exchange.seconds;
    if (exchange.dollars < 0) {
      ++unpriced;
    } else {
      dollars += exchange.dollars;
    }
  }

  [[nodiscard]] std::string price() const {
    if (unpriced == calls) return "price unknown";
    return fmt::format("${:.4f}{}", dollars,
                       unpriced > 0 ? fmt::format(" + {} of unknown price", unpriced) : "");
  }

  [[nodiscard]] Json json() const {
    Json object{{"calls", calls},
                {"prompt_tokens", prompt},
                {"answer_tokens", answer},
                {"cached_tokens", cached},
                {"reasoning_tokens", reasoning},
                {"lost_tokens", lost},
                {"unpriced_calls", unpriced},
                {"seconds", seconds}};
    if (unpriced < calls) object["dollars"] = dollars;
    return object;
  }
};

/// All that a run's events say about its calls.
struct Costs {
  Sum all;
  std::map<std::string, Sum> by_model, by_role;
  std::map<int, Sum> by_candidate;           ///< -1: of no candidate.
  std::map<std::string, std::int64_t> open;  ///< Reserved, and never answered.
};

Costs costs_of(const std::vector<candidate::Event>& events) {
  std::map<candidate::Decision, int> candidates;
  for (const auto& event : events) {
    const auto* proposed = std::get_if<candidate::Proposed>(&event.body);
    if (proposed == nullptr) continue;
    // In runs of older versions decisions have the numbers of their candidates.
    const int number = proposed->candidate.number;
    candidates[proposed->decision < 0 ? number : proposed->decision] = number;
  }
  Costs costs;
  for (const auto& event : events) {
    if (const auto* reserved = std::get_if<candidate::Reserved>(&event.body))
      costs.open[reserved->question] = reserved->tokens;
    const auto* exchanged = std::get_if<candidate::Exchanged>(&event.body);
    if (exchanged == nullptr) continue;
    const Exchange& exchange = exchanged->exchange;
    const auto asked = fmt::format("{}:{}", exchange.provider, exchange.model);
    const auto made = candidates.find(exchanged->decision);
    costs.open.erase(exchange.question);
    costs.all.add(exchange);
    costs.by_model[exchange.answered_by.empty() ? asked : exchange.answered_by].add(exchange);
    costs.by_role[exchange.role].add(exchange);
    costs.by_candidate[made == candidates.end() ? -1 : made->second].add(exchange);
  }
  return costs;
}

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
    const Costs costs = costs_of(events);
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
    Json object{{"run", run.folder.name},       {"total", costs.all.json()},
                {"models", Json::object()},     {"roles", Json::object()},
                {"candidates", Json::object()}, {"cut_off_calls", costs.open.size()}};
    for (const auto& [model, sum] : costs.by_model)
      object["models"][model] = sum.json();
    for (const auto& [role, sum] : costs.by_role)
      object["roles"][role] = sum.json();
    for (const auto& [number, sum] : costs.by_candidate)
      object["candidates"][std::to_string(number)] = sum.json();
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
