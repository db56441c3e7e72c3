// SPDX-License-Identifier: Apache-2.0
#include "judge/whole_program.h"

#include <algorithm>
#include <limits>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "base/toml.h"
#include "fabric/topology.h"
#include "judge/judge.h"
#include "ptx/container/executable.h"
#include "targets/virtual/kept_run.h"
#include "toolchain/object_builder.h"

namespace cuco::judge {
namespace {

Error wrong(const system::Path& file, const toml::node& node, std::string_view what) {
  return {ErrorKind::InvalidInput,
          fmt::format("{}:{}: {}", file.string(), node.source().begin.line, what)};
}

/// A folder that a flag names is meant from where workload.toml lies.
std::string resolved(const std::string& flag, const system::Path& file) {
  if (!flag.starts_with("-I") && !flag.starts_with("-L")) return flag;
  const system::Path folder = flag.substr(2);
  if (folder.empty() || folder.is_absolute()) return flag;
  return flag.substr(0, 2) +
         std::filesystem::absolute(file.parent_path() / folder).lexically_normal().string();
}

Result<void> read_words(const toml::table& whole, const system::Path& file, WholeProgram& program) {
  for (const auto& [key, node] : whole) {
    const auto* list = node.as_array();
    const bool flags = key.str() == "flags";
    if ((key.str() != "args" && !flags) || list == nullptr) {
      return wrong(file, node, "[whole] has two keys: args and flags, lists of strings");
    }
    for (const auto& item : *list) {
      const auto word = item.value<std::string>();
      if (!word) return wrong(file, item, "args and flags must be strings");
      (flags ? program.flags : program.args).push_back(flags ? resolved(*word, file) : *word);
    }
  }
  return {};
}

bool links_mpi(const system::Path& program) {
  const auto bytes = system::read_file(program);
  if (!bytes) return false;
  const auto executable = ptx::probe_executable(std::as_bytes(std::span(*bytes)));
  return executable && executable->mpi == ptx::Linked::Dynamically;
}

struct Circumstances {
  targets::ServerOptions server;
  system::Tier tier = system::Tier::Hostile;
  std::string hardware;
  std::function<bool()> interrupted;
};

Result<Circumstances> circumstances_of(const WholeProgram& program, system::Tier tier) {
  CUCO_TRY_ASSIGN(const system::Path file,
                  system::find_data("topology/" + program.topology + ".toml"));
  CUCO_TRY_ASSIGN(const std::string text, system::read_file(file));
  CUCO_TRY_ASSIGN(const fabric::Topology topology, fabric::parse_topology(text, file.string()));
  Circumstances result{.tier = tier};
  CUCO_TRY_ASSIGN(result.server.gpu, system::find_data("hardware/" + topology.gpu + ".toml"));
  result.server.topology = file;
  result.server.devices = static_cast<std::uint32_t>(program.ranks);
  result.hardware = fmt::format("{} x {} ({})", program.ranks, topology.gpu, topology.name);
  return result;
}

Result<system::Path> build(const WholeProgram& program,
                           const system::Path& source,
                           system::Tier tier) {
  CUCO_TRY_ASSIGN(const std::string text, system::read_file(source, 4U << 20U));
  toolchain::BuildSettings settings;
  settings.cache = system::cache_folder(system::Environment::current()) / "builds";
  settings.tier = tier;
  settings.architecture = "90";
  CUCO_TRY_ASSIGN(const auto built, toolchain::build_whole_program(text, program.flags, settings));
  if (const auto* path = std::get_if<system::Path>(&built)) return *path;
  const auto* failed = std::get_if<toolchain::CompileError>(&built);
  return Error{ErrorKind::InvalidInput,
               fmt::format("{} does not compile: {}", source.string(),
                           failed != nullptr ? failed->message : "it takes too long")};
}

/// From the start of the first device work to the end of the last.
double device_seconds(const std::string& report) {
  const auto json = parse_json(report);
  if (!json) return 0;
  std::int64_t first = std::numeric_limits<std::int64_t>::max();
  std::int64_t last = 0;
  for (const Json& work : json->value("works", Json::array())) {
    first = std::min(first, work.value("started_ps", std::int64_t{0}));
    last = std::max(last, work.value("finished_ps", std::int64_t{0}));
  }
  return last > first ? static_cast<double>(last - first) * 1e-12 : 0;
}

Result<targets::KeptRun> run_one(const WholeProgram& program,
                                 const system::Path& built,
                                 const Circumstances& circumstances,
                                 std::uint64_t schedule_seed) {
  targets::ServerOptions options = circumstances.server;
  options.schedule_seed = schedule_seed;
  options.reports = schedule_seed == 0;
  targets::ProgramStart start{
      .argv = {built.string()}, .uses_mpi = links_mpi(built), .fences = circumstances.tier};
  start.argv.insert(start.argv.end(), program.args.begin(), program.args.end());
  if (start.uses_mpi) options.processes = options.devices;
  return targets::run_and_keep(start, options, circumstances.interrupted);
}

}  // namespace

Result<std::optional<WholeProgram>> load_whole_program(const system::Path& folder) {
  const system::Path file = folder / "workload.toml";
  CUCO_TRY_ASSIGN(const std::string text, system::read_file(file, 1U << 20U));
  CUCO_TRY_ASSIGN(const toml::table table, parse_toml(text, file.string()));
  const auto* whole = table["whole"].as_table();
  if (whole == nullptr) return std::optional<WholeProgram>();
  WholeProgram program;
  program.name = table["name"].value_or(std::string());
  program.summary = table["summary"].value_or(std::string());
  program.ranks = static_cast<int>(table["ranks"].value_or(std::int64_t{0}));
  program.topology = table["topology"].value_or(std::string());
  program.seed = folder / "program.cu";
  if (program.name.empty() || program.topology.empty() || program.ranks < 1 || program.ranks > 64) {
    return wrong(file, table, "needs name, topology and ranks from 1 to 64");
  }
  CUCO_TRY(read_words(*whole, file, program));
  return std::optional(std::move(program));
}

Result<WholeVerdict> judge_whole_program(const WholeProgram& program,
                                         const WholeJudgement& judgement) {
  CUCO_TRY_ASSIGN(Circumstances circumstances, circumstances_of(program, judgement.tier));
  circumstances.interrupted = judgement.interrupted;
  CUCO_TRY_ASSIGN(const system::Path seed_built, build(program, program.seed, judgement.tier));
  CUCO_TRY_ASSIGN(const targets::KeptRun seed, run_one(program, seed_built, circumstances, 0));
  if (seed.ending.server_failed || !seed.ending.program.succeeded()) {
    return Error{ErrorKind::InvalidInput,
                 fmt::format("the seed of {} does not run: {}\n{}", program.name,
                             system::describe(seed.ending.program), seed.errors)};
  }
  WholeVerdict verdict;
  verdict.copies = seed.copies.size();
  verdict.seed_seconds = device_seconds(seed.report);
  verdict.hardware = circumstances.hardware;
  if (seed.copies.empty()) {
    return Error{
        ErrorKind::InvalidInput,
        fmt::format("the seed of {} brings nothing back from a device: there is nothing to "
                    "compare with",
                    program.name)};
  }
  CUCO_TRY_ASSIGN(const system::Path built, build(program, judgement.candidate, judgement.tier));
  for (int schedule = 0; schedule <= judgement.schedules; ++schedule) {
    CUCO_TRY_ASSIGN(const targets::KeptRun run,
                    run_one(program, built, circumstances, static_cast<std::uint64_t>(schedule)));
    if (schedule == 0) verdict.seconds = device_seconds(run.report);
    verdict.differences = differences(seed, run);
    if (verdict.differences.empty()) continue;
    if (schedule > 0) {
      verdict.differences.push_back(fmt::format("under adversarial schedule {}", schedule));
    }
    return verdict;
  }
  verdict.same = true;
  return verdict;
}

}  // namespace cuco::judge
