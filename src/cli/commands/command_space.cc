// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <optional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "base/text.h"
#include "cli/journey/program_reading.h"
#include "cli/terminal/command.h"
#include "design/space.h"

namespace cuco::cli {
namespace {

class SpaceCommand final : public Command {
 public:
  void declare(Arguments& arguments) override {
    arguments.positional("PROGRAM", files_, "the sources of a CUDA program, or a workload's folder")
        .completes(Completion::Workload);
    arguments
        .option("--topology", topology_, "NAME",
                "the cluster (default: the workload's, or nvlink4)")
        .completes(Completion::Topology);
    arguments.option("--ranks", ranks_, "N", "number of GPUs (default: all of the cluster)");
    arguments.option("--include", includes_, "DIR", "header folder that it needs; may be repeated")
        .completes(Completion::Folder);
    arguments.option("--nvcc", flags_, "FLAG", "compiler flag that it needs; may be repeated");
  }

  Result<ExitCode> run(Context& context) override {
    constexpr int kMostRanks = 64;
    if (ranks_ && (*ranks_ < 1 || *ranks_ > kMostRanks))
      return Error{ErrorKind::InvalidInput, fmt::format("--ranks must be 1 to 64: {}", *ranks_)};
    context.terminal.progress("reading the program …");
    files_.front() = or_shipped(files_.front());
    auto read = read_sources(files_, includes_, flags_);
    context.terminal.clear_progress();
    CUCO_TRY_ASSIGN(const ReadProgram program, std::move(read));
    const auto name = !topology_.empty()         ? topology_
                      : program.topology.empty() ? std::string("nvlink4")
                                                 : program.topology;
    CUCO_TRY_ASSIGN(const design::TopologyFacts facts,
                    topology_facts(name, ranks_.value_or(program.ranks)));
    const auto space = design::enumerate_space(analysis::program_facts(program.graph), facts,
                                               design::NcclVersion{});
    context.terminal.write(context.json ? as_json(program, name, space)
                                        : as_text(context.terminal, program, name, space));
    return ExitCode::Done;
  }

 private:
  static std::string as_json(const ReadProgram& program,
                             const std::string& topology,
                             const design::Space& space) {
    Json object{{"program", program.name},     {"topology", topology},
                {"valid", space.valid},        {"all", space.all},
                {"families", Json::array()},   {"refused", Json::array()},
                {"kernel", space.kernel_moves}};
    for (const auto& family : space.families) {
      object["families"].push_back({{"backend", design::name(family.backend)},
                                    {"placement", design::name(family.placement)},
                                    {"sync", design::name(family.sync)},
                                    {"issuers", family.issuers},
                                    {"chunks", family.chunks},
                                    {"costs", family.costs}});
    }
    for (const auto& [reason, count] : space.refusals)
      object["refused"].push_back({{"reason", reason}, {"directives", count}});
    return to_text(object) + "\n";
  }

  static std::string as_text(const Terminal& terminal,
                             const ReadProgram& program,
                             const std::string& topology,
                             const design::Space& space) {
    auto text =
        fmt::format("{}  {} of {} designs are valid on {}\n",
                    terminal.styled(Style::Bold, program.name), space.valid, space.all, topology);
    std::optional<design::Backend> backend;
    std::vector<std::string> costs;  // numbered, and listed once
    for (const auto& family : space.families) {
      if (backend != family.backend) {
        text += fmt::format("\n{}\n", terminal.styled(Style::Accent, design::name(family.backend)));
      }
      backend = family.backend;
      std::vector<std::string> notes;
      for (const auto& cost : family.costs) {
        auto known = std::ranges::find(costs, cost);
        if (known == costs.end()) known = costs.insert(known, cost);
        notes.push_back(std::to_string(known - costs.begin() + 1));
      }
      const auto line =
          fmt::format("  {} {} {} {}", padded(design::name(family.placement), 15),
                      padded(design::name(family.sync), 16), padded(join(family.issuers, "/"), 18),
                      padded(join(family.chunks, "/"), 30));
      text += fmt::format("{}{}\n", line, terminal.styled(Style::Dim, join(notes, " ")));
    }
    if (!costs.empty()) text += fmt::format("\n{}\n", terminal.styled(Style::Accent, "costs"));
    for (std::size_t i = 0; i < costs.size(); ++i)
      text += terminal.styled(Style::Dim, fmt::format("  {}  {}", i + 1, costs[i])) + "\n";
    if (!space.kernel_moves.empty()) {
      text += fmt::format("\n{}\n", terminal.styled(Style::Accent, "kernels by themselves"));
      for (const auto& move : space.kernel_moves)
        text += fmt::format("  {}\n", move);
    }
    if (space.refusals.empty()) return text;
    text += fmt::format("\n{}\n", terminal.styled(Style::Accent, "not valid, and why"));
    std::vector<std::pair<int, std::string>> reasons;
    for (const auto& [reason, count] : space.refusals)
      reasons.emplace_back(count, reason);
    std::ranges::sort(reasons, std::greater<>());
    for (const auto& [count, reason] : reasons)
      text += fmt::format("  {:>5}  {}\n", count, reason);
    return text;
  }

  std::vector<system::Path> files_;
  std::vector<std::string> includes_, flags_;
  std::string topology_;
  std::optional<int> ranks_;
};

}  // namespace

std::unique_ptr<Command> make_space_command() {
  return std::make_unique<SpaceCommand>();
}

}  // namespace cuco::cli
