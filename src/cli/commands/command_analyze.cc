// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "analysis/overlap.h"
#include "analysis/trace/observed_json.h"
#include "analysis/walk/unfollowed.h"
#include "base/json.h"
#include "base/text.h"
#include "cli/journey/program_reading.h"
#include "cli/journey/traced_program.h"
#include "cli/terminal/command.h"
#include "cli/terminal/interrupt.h"

namespace cuco::cli {
namespace {
using analysis::CommunicationGraph;
using analysis::Site;

class AnalyzeCommand final : public Command {
 public:
  void declare(Arguments& arguments) override {
    arguments.positional("PROGRAM", files_, "the sources of a CUDA program, or a workload's folder")
        .completes(Completion::Workload);
    arguments.flag("--dot", dot_, "print a graph for Graphviz");
    arguments
        .option("--profile", profile_, "FILE",
                "what overlap could gain, from a file of: cuco run --profile-json")
        .completes(Completion::File);
    arguments.flag("--no-trace", no_trace_, "read the source only: run nothing");
    arguments.option("--ranks", ranks_, "N", "number of GPUs to run a program on (default: 4)");
    arguments.option("--include", includes_, "DIR", "header folder that it needs; may be repeated")
        .completes(Completion::Folder);
    arguments.option("--nvcc", flags_, "FLAG", "compiler flag that it needs; may be repeated");
    arguments.rest("ARGS", arguments_, "arguments for the program");
  }

  Result<ExitCode> run(Context& context) override {
    constexpr int kMostRanks = 64;
    if (ranks_ < 1 || ranks_ > kMostRanks)
      return Error{ErrorKind::InvalidInput, fmt::format("--ranks must be 1 to 64: {}", ranks_)};
    context.terminal.progress("reading the program …");
    files_.front() = or_shipped(files_.front());
    auto read = read_sources(files_, includes_, flags_);
    context.terminal.clear_progress();
    CUCO_TRY_ASSIGN(const ReadProgram program, std::move(read));
    const auto missed = analysis::unfollowed(program.graph);
    if (program.graph.sites.empty() && !missed.empty()) {
      return Error{ErrorKind::InvalidInput,
                   fmt::format("{} communicates where the analysis does not follow: {}, called "
                               "through a pointer, a table or a library; call it by its name",
                               files_.front().string(), analysis::names_of(missed))};
    }
    if (program.graph.sites.empty()) {
      return Error{ErrorKind::InvalidInput,
                   fmt::format("{} does not communicate: it calls no collective, send or receive "
                               "of NCCL; its kernels' designs: cuco space {}",
                               files_.front().string(), files_.front().string())};
    }
    std::vector<analysis::Overlap> overlaps;
    if (!profile_.empty()) {
      CUCO_TRY_ASSIGN(const std::string text, system::read_file(profile_));
      CUCO_TRY_ASSIGN(const auto times, analysis::read_times(text));
      overlaps = analysis::find_overlaps(program.graph, times);
    }
    const auto observed = trace(context, program);
    const Observations* seen = observed ? &*observed : nullptr;
    if (context.json) {
      context.terminal.write(as_json(program, overlaps, seen));
    } else if (dot_) {
      context.terminal.write(seen != nullptr
                                 ? analysis::to_dot(program.graph, seen->maps, seen->overlaps)
                                 : analysis::to_dot(program.graph));
    } else {
      context.terminal.write(as_text(context.terminal, program, overlaps, seen));
    }
    if (observed || no_trace_) return ExitCode::Done;
    // The source's own graph is worth having without a run, but that is not what was asked for.
    context.terminal.error(fmt::format("{} was not traced: {} (--no-trace reads the source only)",
                                       files_.front().string(), observed.error().message()));
    return observed.error().kind() == ErrorKind::InvalidInput ? ExitCode::JobFailed
                                                              : ExitCode::Environment;
  }

 private:
  Result<Observations> trace(Context& context, const ReadProgram& program) const {
    if (no_trace_) return Error{ErrorKind::NotFound, "it was not asked for"};
    const InterruptScope interrupts;
    auto observed = observe(
        {.program = files_.front(),
         .others = {files_.begin() + 1, files_.end()},
         .ranks = ranks_,
         .includes = includes_,
         .flags = flags_,
         .arguments = arguments_,
         .progress = [&](std::string_view what) { context.terminal.progress(std::string(what)); }},
        program.graph);
    context.terminal.clear_progress();
    return observed;
  }

  static std::string as_json(const ReadProgram& program,
                             const std::vector<analysis::Overlap>& overlaps,
                             const Observations* seen) {
    const std::string text = analysis::to_json(program.graph, overlaps);
    if (seen == nullptr) return text;
    auto json = nlohmann::ordered_json::parse(text);
    json["trace"] = {{"gpu", seen->gpu}, {"left_out", seen->left_out}};
    json["trace"]["maps"] = nlohmann::ordered_json::array();
    for (const auto& map : seen->maps)
      json["trace"]["maps"].push_back(nlohmann::ordered_json(analysis::to_json(map)));
    for (std::size_t i = 0; i < seen->overlaps.size() && i < json["sites"].size(); ++i)
      json["sites"][i]["observed"] = nlohmann::ordered_json(analysis::to_json(seen->overlaps[i]));
    return json.dump(2) + "\n";
  }

  static std::string maps_text(const Terminal& terminal, const Observations& seen) {
    auto text = fmt::format("\n{}  {}\n", terminal.styled(Style::Accent, "blocks"),
                            terminal.styled(Style::Dim, "as seen on virtual GPUs"));
    std::string kernel;
    for (const auto& map : seen.maps) {
      if (map.kernel != kernel) text += fmt::format("  {}\n", map.kernel);
      kernel = map.kernel;
      text += fmt::format("    {} {}: {}\n", map.writes ? "writes" : "reads ",
                          map.buffer.empty() || map.buffer == map.name
                              ? map.name
                              : fmt::format("{} = {}", map.name, map.buffer),
                          analysis::to_text(map));
      text += fmt::format("           {}\n", terminal.styled(Style::Dim, analysis::remarks(map)));
    }
    if (seen.maps.empty()) text += "  no kernel touches memory that a pointer of it leads to\n";
    for (const std::string& what : seen.left_out)
      text += fmt::format("  {}\n", what);
    return text;
  }

  static std::string as_text(const Terminal& terminal,
                             const ReadProgram& program,
                             const std::vector<analysis::Overlap>& overlaps,
                             const Observations* seen) {
    const auto& graph = program.graph;
    const std::vector<std::string> counts = {
        counted(graph.sites.size(), "site"), counted(graph.launches.size(), "launch", "es"),
        counted(graph.buffers.size(), "buffer"),
        graph.timed ? "timed by " + graph.timed->clock : std::string("not timed")};
    auto text =
        fmt::format("{}  {}\n", terminal.styled(Style::Bold, program.name), join(counts, " · "));
    for (std::size_t i = 0; i < graph.sites.size(); ++i) {
      text +=
          site_text(terminal, graph, graph.sites[i], i < overlaps.size() ? &overlaps[i] : nullptr);
      if (seen != nullptr) {
        text += fmt::format("  {} {} (predicted, {})\n",
                            terminal.styled(Style::Dim, padded("observed", 12)),
                            analysis::to_text(seen->overlaps[i]), seen->gpu);
      }
    }
    if (seen != nullptr) text += maps_text(terminal, *seen);
    text += fmt::format("\n{}\n", terminal.styled(Style::Accent, "buffers"));
    for (const auto& buffer : graph.buffers) {
      std::vector<std::string> facts;
      if (!buffer.allocator.empty()) {
        facts.push_back(fmt::format("{}, line {}", buffer.allocator, buffer.allocated.line));
      }
      if (buffer.role == analysis::BufferRole::Input) facts.emplace_back("given, read only");
      if (buffer.role == analysis::BufferRole::Output) facts.emplace_back("given");
      if (buffer.communicated) {
        facts.push_back(buffer.symmetric ? "symmetric" : "must become symmetric");
      }
      text += fmt::format("  {} {}\n", padded(buffer.name, 18),
                          terminal.styled(Style::Dim, join(facts, " · ")));
    }
    if (graph.set_up && graph.tear_down) {
      text += fmt::format("\n{}  set-up in {} before line {} · teardown in {} after line {}\n",
                          terminal.styled(Style::Accent, "anchors"), graph.set_up->function,
                          graph.set_up->line, graph.tear_down->function, graph.tear_down->line);
    }
    return text;
  }

  static std::string counted(std::size_t count,
                             std::string_view what,
                             std::string_view ending = "s") {
    return fmt::format("{} {}{}", count, what, count == 1 ? "" : ending);
  }

  static std::string site_text(const Terminal& terminal,
                               const CommunicationGraph& graph,
                               const Site& site,
                               const analysis::Overlap* overlap) {
    const auto& first = graph.collectives[static_cast<std::size_t>(site.collectives.front())];
    auto text = fmt::format(
        "\n{}  {} line {}{}{}\n", terminal.styled(Style::Accent, analysis::name(site.pattern)),
        site.function, site.span.line,
        site.span.end_line > site.span.line ? fmt::format("-{}", site.span.end_line) : "",
        first.in_place ? ", in place" : "");
    const auto buffers = [&](const std::vector<int>& list) {
      std::vector<std::string> names;
      for (const int buffer : list)
        names.push_back(graph.buffers[static_cast<std::size_t>(buffer)].name);
      return names.empty() ? std::string("?") : join(names, ", ");
    };
    text += fmt::format("  {} → {} · {} x {}\n", buffers(site.send_buffers),
                        buffers(site.receive_buffers), first.count, first.type);
    const auto line = [&](std::string_view title, const std::vector<std::string>& parts) {
      if (parts.empty()) return;
      text += fmt::format("  {} {}\n", terminal.styled(Style::Dim, padded(title, 12)),
                          join(parts, ", "));
    };
    line("made by", flows(graph, site.producers, "of the round before"));
    line("needed by", flows(graph, site.consumers, "of the next round"));
    std::vector<std::string> beside;
    for (const int number : site.independent)
      beside.push_back(work(graph, number));
    line("beside", beside);
    if (overlap != nullptr && overlap->communication_us > 0) {
      text += fmt::format(
          "  {} {:.1f} us communicates, {:.1f} us could run beside it: up to {} to gain "
          "(predicted)\n",
          terminal.styled(Style::Dim, padded("overlap", 12)), overlap->communication_us,
          overlap->beside_us,
          terminal.styled(Style::Good, fmt::format("{:.1f} us", overlap->gain_us)));
    }
    return text;
  }

  static std::string work(const CommunicationGraph& graph, int number) {
    const auto& operation = graph.operations[static_cast<std::size_t>(number)];
    return fmt::format("{} (line {})", operation.name, operation.span.line);
  }

  static std::vector<std::string> flows(const CommunicationGraph& graph,
                                        const std::vector<analysis::Flow>& list,
                                        std::string_view round) {
    std::vector<std::string> parts;
    for (const auto& flow : list) {
      parts.push_back(work(graph, flow.operation) +
                      (flow.next_round ? fmt::format(" {}", round) : ""));
    }
    return parts;
  }

  std::vector<system::Path> files_;
  std::filesystem::path profile_;
  std::vector<std::string> includes_, flags_, arguments_;
  int ranks_ = 4;
  bool dot_ = false;
  bool no_trace_ = false;
};

}  // namespace

std::unique_ptr<Command> make_analyze_command() {
  return std::make_unique<AnalyzeCommand>();
}

}  // namespace cuco::cli
