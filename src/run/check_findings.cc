// SPDX-License-Identifier: Apache-2.0
#include "run/check_findings.h"

#include <algorithm>
#include <filesystem>
#include <map>

#include <fmt/format.h>

#include "base/text.h"
#include "check/finding/finding.h"
#include "ptx/toolkit_source.h"
#include "system/jobs/process.h"
#include "system/os/environment.h"
#include "system/os/files.h"

namespace cuco::run {
namespace {

using check::Finding;
using check::Site;

struct Place {
  std::string file;
  int line = -1;
};

/// file:line of each offset of an object file with debug information; empty where there is none. Of
/// functions that were inlined there, the innermost that is not a wrapper of CUDA's headers.
std::map<std::uint64_t, Place> look_up(const std::string& module,
                                       const std::vector<std::uint64_t>& offsets) {
  std::map<std::uint64_t, Place> places;
  const auto environment = system::Environment::current();
  const auto tool = system::find_program("addr2line", environment.get("PATH").value_or(""));
  if (!tool || module.empty() || offsets.empty()) return places;
  system::JobSpec spec;
  spec.command.argv = {tool->string(), "-a", "-i", "-e", module};
  // A return address is behind the call.
  for (const std::uint64_t offset : offsets)
    spec.command.argv.push_back(fmt::format("{:#x}", offset - 1));
  spec.command.environment = environment;
  const auto outcome = system::run_job(spec);
  if (!outcome || !outcome->succeeded()) return places;
  std::size_t next = 0;
  Place* place = nullptr;
  for (std::string_view line : split(outcome->out, '\n')) {
    if (line.starts_with("0x")) {
      if (next == offsets.size()) break;
      place = &places[offsets[next++]];
      continue;
    }
    line = line.substr(0, line.find(" ("));
    const std::size_t colon = line.rfind(':');
    if (place == nullptr || colon == std::string_view::npos || line.starts_with("??")) continue;
    // addr2line lists inlined frames from the inside out: the first of the user's stays.
    if (!place->file.empty() && !ptx::is_of_toolkit(place->file)) continue;
    place->file = std::string(line.substr(0, colon));
    place->line = std::atoi(std::string(line.substr(colon + 1)).c_str());
  }
  return places;
}

/// Gives calls of the host their file and line.
void name_host_places(std::vector<Finding>& findings) {
  std::vector<Site*> sites;
  for (Finding& finding : findings) {
    sites.push_back(&finding.where);
    if (finding.other) sites.push_back(&*finding.other);
    if (finding.made) sites.push_back(&*finding.made);
  }
  std::erase_if(sites, [](const Site* site) { return site->module.empty() || site->offset == 0; });
  std::map<std::string, std::vector<std::uint64_t>> wanted;
  for (const Site* site : sites) {
    wanted[site->module].push_back(site->offset);
    if (site->outer_offset != 0) wanted[site->module].push_back(site->outer_offset);
  }
  for (const auto& [module, offsets] : wanted) {
    // One start of addr2line per module: it reads all debug information each time.
    const auto places = look_up(module, offsets);
    for (Site* site : sites) {
      if (site->module != module || places.empty()) continue;
      const Place& inner = places.at(site->offset);
      // A call made inside a wrapper of the toolkit is named by whoever called the wrapper.
      const bool use_outer = site->outer_offset != 0 && ptx::is_of_toolkit(inner.file);
      const Place& place = use_outer ? places.at(site->outer_offset) : inner;
      site->file = place.file;
      site->line = place.line;
    }
  }
}

/// Reads lines of source files, each file once.
class Sources {
 public:
  std::string line(const std::string& file, int number) {
    auto& lines = files_[file];
    if (lines.empty()) {
      const auto contents = system::read_file(file);
      const std::string text = contents ? *contents : std::string();
      for (const std::string_view line : split(text, '\n'))
        lines.emplace_back(line);
    }
    const auto index = static_cast<std::size_t>(number - 1);
    return index < lines.size() ? lines[index] : std::string();
  }

 private:
  std::map<std::string, std::vector<std::string>> files_;
};

Result<check::Suppressions> read_suppressions(const std::string& file) {
  std::vector<std::string> errors;
  if (file.empty()) return check::Suppressions::parse("", errors);
  CUCO_TRY_ASSIGN(const std::string text, system::read_file(file));
  check::Suppressions result = check::Suppressions::parse(text, errors);
  if (errors.empty()) return result;
  return Error{ErrorKind::InvalidInput, fmt::format("{}: {}", file, errors.front())};
}

}  // namespace

void CheckFlags::declare(cli::Arguments& arguments) {
  arguments.flag("--check", enabled,
                 "watch every access: memory errors, races, communication bugs; exit 66 if any");
  arguments.option("--json", json, "FILE", "with --check: write the findings to a file")
      .completes(cli::Completion::File);
  arguments
      .option("--suppressions", suppressions, "FILE",
              "with --check: file of findings to ignore, one per line: KIND FILE[:LINE]")
      .completes(cli::Completion::File);
}

Result<void> CheckFlags::check() const {
  if (!enabled && (!json.empty() || !suppressions.empty())) {
    return Error{ErrorKind::InvalidInput, "--json and --suppressions need --check"};
  }
  // A mistake in the file must show before a run of minutes, not after it.
  CUCO_TRY(read_suppressions(suppressions));
  return {};
}

Result<cli::ExitCode> tell_findings(cli::Context& context,
                                    const CheckFlags& flags,
                                    const std::string& found,
                                    std::uint64_t schedule_seed,
                                    cli::ExitCode otherwise) {
  CUCO_TRY_ASSIGN(std::vector<Finding> findings, check::findings_from_json(found));
  name_host_places(findings);
  for (Finding& finding : findings) {
    if (schedule_seed == 0) break;
    finding.notes.push_back(fmt::format(
        "found under schedule {0}; reproduce with: cuco run --check --schedule-seed {0} …",
        schedule_seed));
  }
  CUCO_TRY_ASSIGN(const check::Suppressions suppressions, read_suppressions(flags.suppressions));
  const std::size_t all = findings.size();
  std::erase_if(findings, [&](const Finding& finding) { return suppressions.match(finding); });
  const std::size_t suppressed = all - findings.size();
  if (!flags.json.empty()) CUCO_TRY(system::write_file(flags.json, check::to_json(findings)));
  Sources sources;
  for (const Finding& finding : findings) {
    context.terminal.error(check::to_text(
        finding, [&](const std::string& file, int line) { return sources.line(file, line); }));
  }
  std::string more = suppressed == 0 ? "" : fmt::format(", {} suppressed", suppressed);
  if (schedule_seed != 0) more += fmt::format(", under schedule {}", schedule_seed);
  if (findings.empty()) {
    if (otherwise != cli::ExitCode::Done)
      more += "; the program failed, so only the part before the failure was checked";
    context.terminal.note("check: no findings{}", more);
    return otherwise;
  }
  context.terminal.error(
      fmt::format("check: {} finding{}{}", findings.size(), findings.size() == 1 ? "" : "s", more));
  return cli::ExitCode::Findings;
}

}  // namespace cuco::run
