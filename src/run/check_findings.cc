// SPDX-License-Identifier: Apache-2.0
#include "run/check_findings.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "base/text.h"
#include "check/finding/finding.h"
#include "ptx/toolkit_source.h"
#include "system/jobs/process.h"
#include "system/os/environment.h"
#include "system/os/files.h"
#include "targets/virtual/run_trace.h"

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

/// The lines of a source file; none if it cannot be read.
std::vector<std::string> lines_of(const std::string& file) {
  const auto contents = system::read_file(file);
  std::vector<std::string> lines;
  if (!contents) return lines;
  for (const std::string_view line : split(*contents, '\n'))
    lines.emplace_back(line);
  return lines;
}

bool is_same_place(const Site& a, const Site& b) {
  return a.file == b.file && a.line == b.line && a.kernel == b.kernel && a.module == b.module &&
         a.offset == b.offset && a.what == b.what;
}

/// The same mistake, seen in another run.
bool is_same(const Finding& a, const Finding& b) {
  if (a.kind != b.kind || !is_same_place(a.where, b.where)) return false;
  if (a.other.has_value() != b.other.has_value()) return false;
  if (a.other && !is_same_place(*a.other, *b.other)) return false;
  return !a.where.file.empty() || !a.where.module.empty() || a.message == b.message;
}

Json ranks_of(const Finding& finding) {
  std::set<int> ranks;
  if (finding.where.rank >= 0) ranks.insert(finding.where.rank);
  if (finding.other && finding.other->rank >= 0) ranks.insert(finding.other->rank);
  return Json(ranks);
}

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
  return json.empty() ? Result<void>() : targets::check_trace_file(json, "report");
}

bool ran_to_its_end(const targets::RunEnding& ending) {
  return !ending.server_failed && ending.program.ending == system::Ending::Exited;
}

Result<void> CheckReport::add(const std::string& found, std::uint64_t schedule_seed) {
  schedules_.push_back(schedule_seed);
  if (found.empty()) return {};
  CUCO_TRY_ASSIGN(std::vector<Finding> findings, check::findings_from_json(found));
  name_host_places(findings);
  CUCO_TRY_ASSIGN(const check::Suppressions suppressions, read_suppressions(flags_.suppressions));
  for (Finding& finding : findings) {
    if (suppressions.match(finding)) {
      ++suppressed_;
      continue;
    }
    const auto known = std::ranges::find_if(
        findings_, [&](const Found& other) { return is_same(other.finding, finding); });
    if (known != findings_.end()) {
      known->finding.count += finding.count;
      continue;
    }
    if (schedule_seed != 0) {
      finding.notes.push_back(fmt::format(
          "found under schedule {0}; reproduce with: cuco run --check --schedule-seed {0} …",
          schedule_seed));
    }
    if (finding.kind != check::Kind::Leak) tell(finding);
    findings_.push_back({std::move(finding), schedule_seed});
  }
  return {};
}

void CheckReport::add_difference(std::uint64_t schedule_seed, std::vector<std::string> lines) {
  differences_.push_back({schedule_seed, std::move(lines)});
}

void CheckReport::tell(const Finding& finding) {
  context_.terminal.error(check::to_text(finding, [&](const std::string& file, int line) {
    const auto [known, is_new] = sources_.try_emplace(file);
    if (is_new) known->second = lines_of(file);
    const auto index = static_cast<std::size_t>(line - 1);
    return index < known->second.size() ? known->second[index] : std::string();
  }));
}

std::string CheckReport::json(const CheckedEnd& end, cli::ExitCode code) const {
  Json findings = Json::array();
  for (const Found& found : findings_) {
    Json entry = Json::parse(check::to_json({found.finding})).front();
    entry["ranks"] = ranks_of(found.finding);
    entry["schedule"] = found.seed;
    findings.push_back(std::move(entry));
  }
  Json differences = Json::array();
  for (const Difference& difference : differences_)
    differences.push_back({{"schedule", difference.seed}, {"lines", difference.lines}});
  return to_text(Json{{"findings", std::move(findings)},
                      {"differences", std::move(differences)},
                      {"suppressed", suppressed_},
                      {"schedules", schedules_},
                      {"whole", end.is_whole},
                      {"program_exit_code", static_cast<int>(end.otherwise)},
                      {"exit_code", static_cast<int>(code)}}) +
         "\n";
}

Result<cli::ExitCode> CheckReport::finish(const CheckedEnd& end) {
  for (const Found& found : findings_) {
    if (found.finding.kind == check::Kind::Leak) tell(found.finding);
  }
  const cli::ExitCode code = has_findings() ? cli::ExitCode::Findings : end.otherwise;
  if (!flags_.json.empty()) CUCO_TRY(system::write_file(flags_.json, json(end, code)));
  if (context_.json) context_.terminal.write(json(end, code));
  std::string more = suppressed_ == 0 ? "" : fmt::format(", {} suppressed", suppressed_);
  if (schedules_.size() == 1 && schedules_.front() != 0) {
    more += fmt::format(", under schedule {}", schedules_.front());
  }
  if (!end.is_whole) {
    more += "; the program failed, so only the part before the failure was checked";
  } else if (end.otherwise != cli::ExitCode::Done) {
    more += fmt::format("; the program ran to its end and returned {}",
                        static_cast<int>(end.otherwise));
  }
  if (findings_.empty()) {
    context_.terminal.note("check: no findings{}", more);
  } else {
    context_.terminal.error(fmt::format("check: {} finding{}{}", findings_.size(),
                                        findings_.size() == 1 ? "" : "s", more));
  }
  return code;
}

}  // namespace cuco::run
