// SPDX-License-Identifier: Apache-2.0
#include "targets/virtual/kept_run.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>

#include <fmt/format.h>

#include "base/text.h"
#include "system/os/open_file.h"
#include "targets/virtual/rank_start.h"

namespace cuco::targets {
namespace {

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    lines.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

bool is_word(char c) {
  return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '/';
}

/// Words that make the numbers of a line measurements.
bool speaks_of_time(std::string_view line) {
  static constexpr auto kWords = std::to_array<std::string_view>(
      {"us",      "ms",    "ns",       "s",          "sec",     "secs",    "second",    "seconds",
       "usec",    "msec",  "time",     "times",      "elapsed", "latency", "bandwidth", "gb/s",
       "gib/s",   "mb/s",  "gflops",   "gflop/s",    "tflops",  "tflop/s", "flops",     "cycles",
       "speedup", "clock", "duration", "throughput", "algbw",   "busbw"});
  for (std::size_t i = 0; i < line.size();) {
    if (!is_word(line[i])) {
      ++i;
      continue;
    }
    std::string word;
    for (; i < line.size() && is_word(line[i]); ++i)
      word += static_cast<char>(std::tolower(static_cast<unsigned char>(line[i])));
    if (std::ranges::find(kWords, word) != kWords.end()) return true;
  }
  return false;
}

/// The first line that is not the same, masked numbers aside.
void compare_output(const KeptRun& plain, const KeptRun& other, std::vector<std::string>& out) {
  // Ranks write to one stream in any order: the lines are what is compared.
  std::vector<std::string> a;
  std::vector<std::string> b;
  for (const std::string_view line : lines_of(plain.out))
    a.push_back(without_times(line));
  for (const std::string_view line : lines_of(other.out))
    b.push_back(without_times(line));
  if (a == b) return;
  std::ranges::sort(a);
  std::ranges::sort(b);
  std::vector<std::string> lost;
  std::vector<std::string> fresh;
  std::ranges::set_difference(a, b, std::back_inserter(lost));
  std::ranges::set_difference(b, a, std::back_inserter(fresh));
  if (lost.empty() && fresh.empty()) return;
  const auto shown = [](const std::vector<std::string>& lines) {
    return lines.empty() ? std::string("nothing") : fmt::format("\"{}\"", lines.front());
  };
  out.push_back(fmt::format("prints {} instead of {}", shown(fresh), shown(lost)));
}

void compare_copies(const KeptRun& plain, const KeptRun& other, std::vector<std::string>& out) {
  std::vector<vcluster::LoggedCopy> lost;
  std::vector<vcluster::LoggedCopy> fresh;
  std::ranges::set_difference(plain.copies, other.copies, std::back_inserter(lost));
  std::ranges::set_difference(other.copies, plain.copies, std::back_inserter(fresh));
  if (!fresh.empty()) {
    out.push_back(
        fmt::format("{} bytes copied from device {} to the host have other contents{}",
                    fresh.front().bytes, fresh.front().device,
                    fresh.size() > 1 ? fmt::format(", and {} more copies", fresh.size() - 1) : ""));
  } else if (!lost.empty()) {
    out.push_back(
        fmt::format("{} copies of the plain schedule are missing, the first of {} bytes "
                    "from device {}",
                    lost.size(), lost.front().bytes, lost.front().device));
  }
}

/// "thread 1 waits for device 0 (cudaDeviceSynchronize); …": the host threads of a deadlock, as the
/// server has named them, without process numbers and paths. Empty: it has not.
std::string who_waits(std::string_view errors) {
  constexpr std::string_view kBegin = "deadlock: nothing can go on. Who waits for what:\n";
  constexpr std::size_t kMost = 8;
  const std::size_t at = errors.rfind(kBegin);
  if (at == std::string_view::npos) return {};
  std::vector<std::string> waits;
  const std::string_view told = errors.substr(at + kBegin.size());
  for (const std::string_view line : split(told, '\n')) {
    if (!line.starts_with("  ") || line.starts_with("  device ")) break;
    std::string text(line.substr(2));
    const std::size_t open = text.find(" (pid ");
    const std::size_t close = text.find(") ", open);
    if (open != std::string::npos && close != std::string::npos) text.erase(open, close + 1 - open);
    waits.push_back(std::move(text));
  }
  if (waits.size() > kMost) {
    const std::size_t more = waits.size() - kMost;
    waits.resize(kMost);
    waits.push_back(fmt::format("and {} more", more));
  }
  return join(waits, "; ");
}

}  // namespace

std::string ending_of(const KeptRun& run) {
  if (run.ending.server_failed) {
    const std::string waits = who_waits(run.errors);
    return waits.empty() ? "cannot go on: a deadlock, or the server failed" : "deadlock: " + waits;
  }
  const system::JobOutcome& program = run.ending.program;
  return program.ending == system::Ending::Exited ? fmt::format("exits with {}", program.code)
                                                  : "is " + system::describe(program);
}

std::string without_times(std::string_view line) {
  if (!speaks_of_time(line)) return std::string(line);
  std::string masked;
  for (std::size_t i = 0; i < line.size();) {
    if (std::isdigit(static_cast<unsigned char>(line[i])) == 0) {
      // Padding grows and shrinks with the number it precedes.
      if (line[i] != ' ' || masked.empty() || masked.back() != ' ') masked += line[i];
      ++i;
      continue;
    }
    if (!masked.empty() && masked.back() == '-') masked.pop_back();
    masked += '#';
    while (i < line.size() && (std::isdigit(static_cast<unsigned char>(line[i])) != 0 ||
                               line[i] == '.' || line[i] == 'e' || line[i] == '+')) {
      ++i;
    }
  }
  return masked;
}

Result<KeptRun> run_and_keep(const ProgramStart& start,
                             ServerOptions options,
                             const std::function<bool()>& interrupted) {
  CUCO_TRY_ASSIGN(const system::TempFolder folder, system::TempFolder::create("cuco-kept"));
  CUCO_TRY_ASSIGN(const system::Fd in, system::open_to_read("/dev/null"));
  CUCO_TRY_ASSIGN(const system::Fd out, system::open_to_append(folder.path() / "out"));
  CUCO_TRY_ASSIGN(const system::Fd errors, system::open_to_append(folder.path() / "errors"));
  options.logs_copies = true;
  options.errors = errors.get();
  options.fenced = start.fences.has_value();
  CUCO_TRY_ASSIGN(ServerProcess server, ServerProcess::start(options));
  CUCO_TRY_ASSIGN(RankStart ranks, start.uses_mpi
                                       ? start_under_mpi(server, start.argv, options.processes)
                                       : start_as_one(server, start.argv));
  if (start.fences) {
    CUCO_TRY_ASSIGN(ranks, fenced(std::move(ranks), server, start.argv.front(), *start.fences));
  }
  KeptRun kept;
  CUCO_TRY_ASSIGN(kept.ending,
                  run_against(server, ranks, interrupted,
                              {.in = in.get(), .out = out.get(), .errors = errors.get()}));
  CUCO_TRY_ASSIGN(kept.out, system::read_file(folder.path() / "out"));
  CUCO_TRY_ASSIGN(kept.errors, system::read_file(folder.path() / "errors"));
  kept.out += kept.ending.program.out;
  kept.errors += kept.ending.program.err;
  // A program may end before the server begins its log: then nothing was copied.
  const bool logged = std::filesystem::exists(server.copy_log());
  if (logged) {
    CUCO_TRY_ASSIGN(kept.copy_log, vcluster::read_copy_log(server.copy_log()));
  }
  kept.copies = vcluster::without_order(kept.copy_log);
  if (logged && options.keep_copies != 0) {
    CUCO_TRY_ASSIGN(auto contents, vcluster::CopyContents::open(server.copy_log()));
    kept.contents = std::make_shared<const vcluster::CopyContents>(std::move(contents));
  }
  if (options.reports && !kept.ending.interrupted && !kept.ending.server_failed) {
    CUCO_TRY_ASSIGN(kept.report, server.report());
  }
  if (options.check && !kept.ending.interrupted) {
    CUCO_TRY_ASSIGN(kept.findings, server.findings());
  }
  return kept;
}

std::vector<std::string> differences(const KeptRun& plain, const KeptRun& other) {
  std::vector<std::string> out;
  if (ending_of(plain) != ending_of(other)) {
    out.push_back(fmt::format("{} (the plain schedule {})", ending_of(other), ending_of(plain)));
  }
  // A run that was cut off has printed and copied less; that says nothing more.
  if (!other.ending.server_failed || plain.ending.server_failed) {
    compare_output(plain, other, out);
    compare_copies(plain, other, out);
  }
  return out;
}

}  // namespace cuco::targets
