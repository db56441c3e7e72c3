// SPDX-License-Identifier: Apache-2.0
#include "run/profile_view.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <sstream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "cli/terminal/interrupt.h"
#include "run/profile_gpus.h"
#include "targets/virtual/rank_start.h"
#include "targets/virtual/run_trace.h"

namespace cuco::run {
namespace {

std::uint64_t number(const Json& object, const char* name) {
  return object.value(name, std::uint64_t{0});
}

/// 12345678 -> "12.3 M".
std::string short_count(std::uint64_t count) {
  const auto value = static_cast<double>(count);
  if (count < 10'000) return fmt::format("{}", count);
  if (count < 10'000'000) return fmt::format("{:.1f} k", value / 1e3);
  if (count < 10'000'000'000) return fmt::format("{:.1f} M", value / 1e6);
  return fmt::format("{:.1f} G", value / 1e9);
}

std::string short_bytes(std::uint64_t bytes) {
  return human_bytes(static_cast<double>(bytes));
}

std::string short_time(std::uint64_t picoseconds) {
  const auto value = static_cast<double>(picoseconds);
  if (picoseconds == 0) return "0";
  if (picoseconds < 1'000'000) return fmt::format("{:.0f} ns", value / 1e3);
  if (picoseconds < 1'000'000'000) return fmt::format("{:.1f} us", value / 1e6);
  return fmt::format("{:.2f} ms", value / 1e9);
}

std::string percent(std::uint64_t part, std::uint64_t whole) {
  if (whole == 0) return "–";
  return fmt::format("{:.0f} %", 100.0 * static_cast<double>(part) / static_cast<double>(whole));
}

/// Lines of source files, read when first asked for.
class Sources {
 public:
  std::string line(const std::string& file, std::uint64_t number) {
    auto [entry, is_new] = files_.try_emplace(file);
    if (is_new) {
      std::istringstream in(system::read_file(file).has_value() ? *system::read_file(file) : "");
      for (std::string text; std::getline(in, text);)
        entry->second.push_back(text);
    }
    if (number == 0 || number > entry->second.size()) return "";
    const std::string& text = entry->second[number - 1];
    const std::size_t begin = text.find_first_not_of(" \t");
    return begin == std::string::npos ? "" : text.substr(begin, 56);
  }

 private:
  std::map<std::string, std::vector<std::string>> files_;
};

/// The most frequent class first.
std::string classes_text(const Json& by_class, std::uint64_t all) {
  std::vector<std::pair<std::uint64_t, std::string>> sorted;
  for (const auto& [name, count] : by_class.items())
    sorted.emplace_back(count.get<std::uint64_t>(), name);
  std::ranges::sort(sorted, std::greater<>());
  std::string text;
  for (const auto& [count, name] : sorted)
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name, percent(count, all));
  return text;
}

void add_kernel(std::string& out,
                const Json& report,
                const Json& kernel,
                const cli::Terminal& terminal) {
  const std::uint64_t warps = number(kernel, "warp_instructions");
  const std::uint64_t sectors = number(kernel, "sectors");
  std::uint64_t requested = 0;
  // Per kernel there are only sums over lines; coalescing counts global accesses alone.
  std::uint64_t ideal = 0;
  std::uint64_t moved = 0;
  for (const Json& line : kernel["lines"]) {
    requested += number(line, "global_bytes");
    ideal += number(line, "ideal_sectors");
    moved += number(line, "sectors");
  }
  const auto several = [](std::uint64_t count, std::string_view one, std::string_view more) {
    return fmt::format("{} {}", count, count == 1 ? one : more);
  };
  out +=
      fmt::format("{}  {}, {}, {}\n",
                  terminal.styled(cli::Style::Bold, targets::kernel_name(kernel.value("name", ""))),
                  several(number(kernel, "launches"), "launch", "launches"),
                  several(number(kernel, "blocks"), "block", "blocks"),
                  kernel_time_text(report, kernel.value("name", "")));
  cli::Table facts;
  facts.row({"instructions",
             fmt::format("{} by threads, {} by warps, {} of lanes active",
                         short_count(number(kernel, "thread_instructions")), short_count(warps),
                         percent(number(kernel, "thread_instructions"), 32 * warps))});
  facts.row({"by class", classes_text(kernel["by_class"], warps)});
  facts.row({"global memory",
             fmt::format("{} loads, {} stores, {} atomics (warps); {} requested, {} sectors, "
                         "coalescing {}",
                         short_count(number(kernel, "global_loads")),
                         short_count(number(kernel, "global_stores")),
                         short_count(number(kernel, "atomics")), short_bytes(requested),
                         short_count(moved), percent(ideal, moved))});
  facts.row({"levels", fmt::format("L1 hits {}, L2 hits {}, {} from and to HBM",
                                   percent(number(kernel, "l1_hit_sectors"), sectors),
                                   percent(number(kernel, "l2_hit_sectors"), sectors),
                                   short_bytes(number(kernel, "hbm_bytes")))});
  facts.row({"shared memory", fmt::format("{} passes lost to bank conflicts",
                                          short_count(number(kernel, "bank_conflicts")))});
  facts.row({"control", fmt::format("{} divergent branches, {} arrivals at barriers, {} "
                                    "tensor-core operations",
                                    short_count(number(kernel, "divergent_branches")),
                                    short_count(number(kernel, "barriers")),
                                    short_count(number(kernel["by_class"], "tensor")))});
  facts.row({"waiting", fmt::format("{} of warp-time", short_time(number(kernel, "waiting_ps")))});
  out += facts.text(2);
}

std::uint64_t wait_of(const Json& line) {
  return number(line, "load_wait_ps") + number(line, "poll_wait_ps") +
         number(line, "barrier_wait_ps");
}

void add_lines(std::string& out,
               const Json& kernel,
               const cli::Terminal& terminal,
               Sources& sources,
               int most) {
  std::vector<const Json*> lines;
  for (const Json& line : kernel["lines"])
    lines.push_back(&line);
  // What takes a warp's time: instructions at about a nanosecond each, and waiting.
  const auto weight = [](const Json* line) {
    return number(*line, "warps") * 1000 + wait_of(*line);
  };
  std::ranges::stable_sort(lines, std::greater<>(), weight);
  if (lines.size() > static_cast<std::size_t>(most)) lines.resize(static_cast<std::size_t>(most));
  using enum cli::Table::Align;
  cli::Table table({Left, Right, Right, Right, Right, Right, Right, Left});
  table.row(
      {terminal.styled(cli::Style::Dim, "line"), terminal.styled(cli::Style::Dim, "warp instr"),
       terminal.styled(cli::Style::Dim, "lanes"), terminal.styled(cli::Style::Dim, "sectors"),
       terminal.styled(cli::Style::Dim, "coalesced"), terminal.styled(cli::Style::Dim, "conflicts"),
       terminal.styled(cli::Style::Dim, "waiting"), ""});
  for (const Json* line : lines) {
    const std::string file = line->value("file", "");
    const std::uint64_t at = number(*line, "line");
    table.row({at == 0 ? "(no line)"
                       : fmt::format("{}:{}", std::filesystem::path(file).filename().string(), at),
               short_count(number(*line, "warps")),
               percent(number(*line, "threads"), 32 * number(*line, "warps")),
               short_count(number(*line, "sectors")),
               percent(number(*line, "ideal_sectors"), number(*line, "sectors")),
               short_count(number(*line, "bank_conflicts")), short_time(wait_of(*line)),
               terminal.styled(cli::Style::Dim, sources.line(file, at))});
  }
  out += "\n" + table.text(2) + "\n";
}

}  // namespace

void ProfileFlags::declare(cli::Arguments& arguments) {
  arguments.flag("--profile", enabled, "show what kernels did, per kernel and source line");
  arguments.option("--profile-json", file, "FILE", "write the profile to a file, as JSON")
      .completes(cli::Completion::File);
  arguments
      .option("--timeline", timeline, "FILE",
              "write a trace for ui.perfetto.dev: host threads, streams, waits, puts")
      .completes(cli::Completion::File);
}

Result<void> ProfileFlags::check() const {
  if (!file.empty()) CUCO_TRY(targets::check_trace_file(file, "profile"));
  return timeline.empty() ? Result<void>() : targets::check_trace_file(timeline);
}

std::string profile_text(const Json& report, const cli::Terminal& terminal, int lines_per_kernel) {
  std::vector<const Json*> kernels;
  for (const Json& kernel : report["kernels"])
    kernels.push_back(&kernel);
  std::ranges::stable_sort(kernels, std::greater<>(),
                           [](const Json* kernel) { return number(*kernel, "time_ps"); });
  std::string out = gpus_text(report);
  Sources sources;
  for (const Json* kernel : kernels) {
    add_kernel(out, report, *kernel, terminal);
    add_lines(out, *kernel, terminal, sources, lines_per_kernel);
  }
  if (kernels.empty()) out += "no kernel ran\n";
  // Three kinds of sums stand side by side; whoever adds them up should know.
  return out + terminal.styled(
                   cli::Style::Dim,
                   fmt::format("summed: counts over all launches on all GPUs, times of a GPU over "
                               "its launches, waiting over all warps\n"
                               "streams overlap: times may add up to more than the run took\n"
                               "times are predicted for {}\n",
                               report.value("gpu", "?")));
}

Result<cli::ExitCode> run_profiled(cli::Context& context,
                                   const ProfileFlags& flags,
                                   const targets::ProgramStart& start,
                                   targets::ServerOptions options) {
  options.reports = true;
  options.timeline = !flags.timeline.empty();
  CUCO_TRY_ASSIGN(targets::ServerProcess server, targets::ServerProcess::start(options));
  CUCO_TRY_ASSIGN(const targets::RankStart ranks,
                  start.uses_mpi ? targets::start_under_mpi(server, start.argv, options.processes)
                                 : targets::start_as_one(server, start.argv));
  CUCO_TRY_ASSIGN(const targets::RunEnding ending,
                  targets::run_against(server, ranks, cli::InterruptScope::requested));
  if (ending.interrupted) return cli::ExitCode::Interrupted;
  if (ending.server_failed) return cli::ExitCode::Internal;
  CUCO_TRY_ASSIGN(const std::string text, server.report());
  if (!flags.file.empty()) {
    CUCO_TRY(system::write_file(flags.file, text));
  }
  if (!flags.timeline.empty()) {
    const targets::TracedRun run{.report = text};
    CUCO_TRY(targets::write_trace({&run, 1}, flags.timeline));
    context.terminal.note("timeline (predicted): {}; open it in ui.perfetto.dev",
                          flags.timeline.string());
  }
  if (flags.enabled) {
    CUCO_TRY_ASSIGN(const Json report, parse_json(text));
    context.terminal.write(profile_text(report, context.terminal, flags.lines));
  }
  return cli::passed_on(ending.program.code);
}

}  // namespace cuco::run
