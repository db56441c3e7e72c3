// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "base/text.h"
#include "cli/journey/run_lookup.h"
#include "cli/terminal/command.h"
#include "knowledge/knowledge.h"
#include "search/landscape/simulation.h"
#include "store/memory_store.h"
#include "system/os/system_clock.h"

namespace cuco::cli {
namespace {
using search::Simulated;

constexpr std::uint64_t kOtherSeed = 1000;  ///< More than there are seeds to compare.

/// One policy with every seed.
struct Row {
  std::string policy;
  std::vector<double> speedups;
  std::vector<double> needed;  ///< Candidates; of the seeds that got there.
};

class ReplayCommand final : public Command {
 public:
  void declare(Arguments& arguments) override {
    arguments.positional("RUN", runs_, "number of the run, or 'last'; several of one workload")
        .completes(Completion::Nothing);
    arguments.option("--policy", policies_, "NAME",
                     "search, greedy, power-law, random, best-of-n; may be repeated");
    arguments.option("--candidates", candidates_, "N", "budget of each (default: the run's own)");
    arguments.flag("--knowledge", knowledge_,
                   "each search a second time, with what its first run has taught");
    arguments.option("--seeds", seeds_, "N", "number of seeds for each policy (default: 10)");
  }

  Result<ExitCode> run(Context& context) override {
    search::Landscape landscape;
    for (const std::string& name : runs_) {
      CUCO_TRY_ASSIGN(const StoredRun run, load_run(context.config, name));
      auto added = landscape.add(run.state);
      if (!added) return std::move(added).error().while_doing("run " + run.folder.name);
    }
    if (landscape.points().empty()) {
      return Error{ErrorKind::InvalidInput, "the run has no judged candidate to replay"};
    }
    const int budget = candidates_.value_or(static_cast<int>(landscape.points().size()) / 2 + 1);
    if (policies_.empty()) policies_ = {"search", "random", "best-of-n"};
    std::vector<Row> rows;
    for (const std::string& policy : policies_) {
      CUCO_TRY_ASSIGN(Row row, simulated(landscape, policy, budget));
      rows.push_back(std::move(row));
      if (!knowledge_) continue;
      CUCO_TRY_ASSIGN(Row second, simulated_again(landscape, policy, budget));
      rows.push_back(std::move(second));
    }
    context.terminal.write(context.json ? as_json(landscape, rows, budget)
                                        : as_table(landscape, rows, budget));
    return ExitCode::Done;
  }

 private:
  Result<Row> simulated(const search::Landscape& landscape,
                        const std::string& name,
                        int budget) const {
    CUCO_TRY_ASSIGN(const search::Policy policy, search::parse_policy(name));
    Row row{.policy = name};
    const system::SystemClock clock;
    for (int seed = 1; seed <= std::max(seeds_, 1); ++seed) {
      store::MemoryStore store(clock);
      CUCO_TRY_ASSIGN(
          const Simulated made,
          search::simulate(landscape, policy, static_cast<std::uint64_t>(seed), budget, store));
      row.speedups.push_back(made.speedup);
      if (made.to_within_1 > 0) row.needed.push_back(made.to_within_1);
    }
    return row;
  }

  /// The same policy and budget, with another seed and with what the first run has taught.
  Result<Row> simulated_again(const search::Landscape& landscape,
                              const std::string& name,
                              int budget) const {
    CUCO_TRY_ASSIGN(const search::Policy policy, search::parse_policy(name));
    Row row{.policy = name + ", second run"};
    const system::SystemClock clock;
    for (int seed = 1; seed <= std::max(seeds_, 1); ++seed) {
      const auto first_seed = static_cast<std::uint64_t>(seed);
      store::MemoryStore first(clock);
      CUCO_TRY(search::simulate(landscape, policy, first_seed, budget, first));
      CUCO_TRY_ASSIGN(const auto events, first.events(0));
      knowledge::Knowledge known;
      candidate::RunState state = candidate::fold(events);
      state.started.emplace();
      known.learn("recorded", state, "recorded");
      const auto expected = [&](const design::Directive& directive) {
        const auto* lesson = known.find("recorded", knowledge::move_of(directive));
        return lesson == nullptr ? 1.0 : lesson->expected();
      };
      store::MemoryStore second(clock);
      CUCO_TRY_ASSIGN(
          const Simulated made,
          search::simulate(landscape, policy, first_seed + kOtherSeed, budget, second, expected));
      row.speedups.push_back(made.speedup);
      if (made.to_within_1 > 0) row.needed.push_back(made.to_within_1);
    }
    return row;
  }

  [[nodiscard]] std::string as_table(const search::Landscape& landscape,
                                     const std::vector<Row>& rows,
                                     int budget) const {
    std::string text = fmt::format(
        "{} recorded candidates, best {:.3f}x on {}; {} candidates each, {} seeds\n\n",
        landscape.points().size(), landscape.best(), landscape.hardware(), budget, seeds_);
    Table table({Table::Align::Left, Table::Align::Right, Table::Align::Right, Table::Align::Right,
                 Table::Align::Right});
    table.row({"policy", "median", "worst", "within 1 % of best", "candidates until then"});
    for (const Row& row : rows) {
      table.row({row.policy, fmt::format("{:.3f}x", search::median_of(row.speedups)),
                 fmt::format("{:.3f}x", *std::ranges::min_element(row.speedups)),
                 fmt::format("{}/{}", row.needed.size(), row.speedups.size()),
                 row.needed.empty() ? "–" : fmt::format("{:.0f}", search::median_of(row.needed))});
    }
    return text + table.text();
  }

  [[nodiscard]] static std::string as_json(const search::Landscape& landscape,
                                           const std::vector<Row>& rows,
                                           int budget) {
    Json object = {{"points", landscape.points().size()},
                   {"best", landscape.best()},
                   {"candidates", budget},
                   {"policies", Json::array()}};
    for (const Row& row : rows) {
      object["policies"].push_back({{"policy", row.policy},
                                    {"median", search::median_of(row.speedups)},
                                    {"speedups", row.speedups},
                                    {"reached", row.needed.size()}});
    }
    return to_text(object) + "\n";
  }

  std::vector<std::string> runs_;
  std::vector<std::string> policies_;
  std::optional<int> candidates_;
  int seeds_ = 10;
  bool knowledge_ = false;
};

}  // namespace

std::unique_ptr<Command> make_replay_command() {
  return std::make_unique<ReplayCommand>();
}

}  // namespace cuco::cli
