// SPDX-License-Identifier: Apache-2.0
#include "cli/whole_program.h"

#include <fmt/format.h>

#include "base/toml.h"
#include "cli/interrupt.h"
#include "cli/kept_run.h"
#include "cli/program_build.h"
#include "fabric/topology.h"
#include "ptx/executable.h"

namespace cuco::cli {
namespace {

Error wrong(const system::Path& file, const toml::node& node, std::string_view what) {
  return {ErrorKind::InvalidInput,
          fmt::format("{}:{}: {}", file.string(), node.source().begin.line, what)};
}

Result<void> read_args(const toml::table& whole, const system::Path& file, WholeProgram& program) {
  for (const auto& [key, node] : whole) {
    const auto* list = node.as_array();
    if (key.str() != "args" || list == nullptr) {
      return wrong(file, node, "[whole] has one key: args, a list of strings");
    }
    for (const auto& item : *list) {
      const auto word = item.value<std::string>();
      if (!word) return wrong(file, item, "args must be strings");
      program.args.push_back(*word);
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

Result<KeptRun> run_one(const WholeProgram& program,
                        const system::Path& source,
                        std::uint64_t schedule_seed) {
  CUCO_TRY_ASSIGN(const system::Path file,
                  vcluster::find_data_file("topology/" + program.topology + ".toml"));
  CUCO_TRY_ASSIGN(const std::string text, system::read_file(file));
  CUCO_TRY_ASSIGN(const fabric::Topology topology, fabric::parse_topology(text, file.string()));
  vcluster::ServerOptions options;
  CUCO_TRY_ASSIGN(options.gpu, vcluster::find_data_file("hardware/" + topology.gpu + ".toml"));
  options.topology = file;
  options.devices = static_cast<std::uint32_t>(program.ranks);
  options.schedule_seed = schedule_seed;
  CUCO_TRY_ASSIGN(const system::Path built,
                  build_program({.sources = {source}, .cache = default_cache()}));
  ProgramStart start{.argv = {built.string()}, .uses_mpi = links_mpi(built)};
  start.argv.insert(start.argv.end(), program.args.begin(), program.args.end());
  if (start.uses_mpi) options.processes = options.devices;
  return run_and_keep(start, options, InterruptScope::requested);
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
  CUCO_TRY(read_args(*whole, file, program));
  return std::optional(std::move(program));
}

Result<WholeVerdict> judge_whole_program(const WholeProgram& program,
                                         const system::Path& candidate,
                                         int schedules) {
  CUCO_TRY_ASSIGN(const KeptRun seed, run_one(program, program.seed, 0));
  if (seed.ending.server_failed || !seed.ending.program.succeeded()) {
    return Error{ErrorKind::InvalidInput,
                 fmt::format("the seed of {} does not run: {}\n{}", program.name,
                             system::describe(seed.ending.program), seed.errors)};
  }
  WholeVerdict verdict;
  verdict.copies = seed.copies.size();
  if (seed.copies.empty()) {
    return Error{
        ErrorKind::InvalidInput,
        fmt::format("the seed of {} brings nothing back from a device: there is nothing to "
                    "compare with",
                    program.name)};
  }
  for (int schedule = 0; schedule <= schedules; ++schedule) {
    CUCO_TRY_ASSIGN(const KeptRun run,
                    run_one(program, candidate, static_cast<std::uint64_t>(schedule)));
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

}  // namespace cuco::cli
