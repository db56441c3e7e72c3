// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "analysis/overlap.h"
#include "base/json.h"
#include "base/text.h"
#include "cli/journey/program_reading.h"
#include "cli/terminal/command.h"

namespace cuco::cli {
namespace {
using analysis::CommunicationGraph;
using analysis::Site;

class AnalyzeCommand final : public Command {
 public:
  void declare(Arguments& arguments) override {
    arguments.positional("PROGRAM", program_, "a .cu file, or a workload's folder")
        .completes(Completion::Workload);
    arguments.flag("--dot", dot_, "print a graph for Graphviz");
    arguments
        .option("--profile", profile_, "FILE",
                "what overlap could gain, from a file of: cuco run --profile-json")
        .completes(Completion::File);
    arguments.option("--include", includes_, "DIR", "header folder that it needs; may be repeated")
        .completes(Completion::Folder);
    arguments.option("--nvcc", flags_, "FLAG", "compiler flag that it needs; may be repeated");
  }

  Result<ExitCode> run(Context& context) override {
    context.terminal.progress("reading the program …");
    auto read = read_program(program_, includes_, flags_);
    context.terminal.clear_progress();
    CUCO_TRY_ASSIGN(const ReadProgram program, std::move(read));
    if (program.graph.sites.empty()) {
      return Error{ErrorKind::InvalidInput,
                   fmt::format("{} does not communicate: it calls no collective, send or receive "
                               "of NCCL; its kernels' designs: cuco space {}",
                               program_.string(), program_.string())};
    }
    std::vector<analysis::Overlap> overlaps;
    if (!profile_.empty()) {
      CUCO_TRY_ASSIGN(const std::string text, system::read_file(profile_));
      CUCO_TRY_ASSIGN(const auto times, analysis::read_times(text));
      overlaps = analysis::find_overlaps(program.graph, times);
    }
    if (context.json) {
      context.terminal.write(analysis::to_json(program.graph, overlaps));
    } else if (dot_) {
      context.terminal.write(analysis::to_dot(program.graph));
    } else {
      context.terminal.write(as_text(context.terminal, program, overlaps));
    }
    return ExitCode::Done;
  }

 private:
  static std::string as_text(const Terminal& terminal,
                             const ReadProgram& program,
                             const std::vector<analysis::Overlap>& overlaps) {
    const auto& graph = program.graph;
    const std::vector<std::string> counts = {
        counted(graph.sites.size(), "site"), counted(graph.launches.size(), "launch", "es"),
        counted(graph.buffers.size(), "buffer"),
        graph.timed ? "timed by " + graph.timed->clock : std::string("not timed")};
    auto text =
        fmt::format("{}  {}\n", terminal.styled(Style::Bold, program.name), join(counts, " · "));
    for (std::size_t i = 0; i < graph.sites.size(); ++i)
      text +=
          site_text(terminal, graph, graph.sites[i], i < overlaps.size() ? &overlaps[i] : nullptr);
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

  std::filesystem::path program_, profile_;
  std::vector<std::string> includes_, flags_;
  bool dot_ = false;
};

}  // namespace

std::unique_ptr<Command> make_analyze_command() {
  return std::make_unique<AnalyzeCommand>();
}

}  // namespace cuco::cli
