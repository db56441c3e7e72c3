// SPDX-License-Identifier: Apache-2.0
#include "cli/journey/traced_program.h"

#include <filesystem>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "base/printable.h"
#include "base/text.h"
#include "cli/journey/program_reading.h"
#include "cli/terminal/interrupt.h"
#include "fabric/topology.h"
#include "hardware/gpu_description.h"
#include "judge/seed_trace.h"
#include "judge/whole/whole_program.h"
#include "ptx/container/executable.h"
#include "run/program_build.h"
#include "targets/virtual/kept_run.h"
#include "targets/virtual/machine_files.h"

namespace cuco::cli {
namespace {

/// A run's report, and what it was a run of.
struct Reported {
  std::string shape;
  analysis::ShapeParameters parameters;
  std::string report;
  std::vector<std::string> given = {};  ///< See analysis::SeenRun.
};

/// As cuco-rank allocates them: set by set, inputs first.
std::vector<std::string> given_buffers(const workload::Workload& workload) {
  std::vector<std::string> names;
  for (int set = 0; set < workload.budget.sets; ++set) {
    for (const auto& rule : workload.inputs)
      names.push_back("input " + rule.name);
    for (const auto& rule : workload.outputs)
      names.push_back("output " + rule.name);
  }
  return names;
}

Result<std::vector<Reported>> run_workload(const TraceRequest& request) {
  const judge::JudgeOptions options{.workload = request.program,
                                    .cache = system::cache_folder(system::Environment::current())};
  CUCO_TRY_ASSIGN(auto traced,
                  judge::trace_seed(options, request.progress, InterruptScope::requested));
  CUCO_TRY_ASSIGN(const auto workload, workload::load_workload(request.program));
  std::vector<Reported> out;
  for (judge::TracedShape& one : traced) {
    Reported run{one.shape.name, {}, std::move(one.report)};
    for (std::size_t i = 0; i < workload.params.size(); ++i) {
      // A switch is no size.
      if (one.shape.params[i] > 1)
        run.parameters.emplace_back(workload.params[i], one.shape.params[i]);
    }
    run.parameters.emplace_back("ranks", workload.ranks);
    run.given = given_buffers(workload);
    out.push_back(std::move(run));
  }
  return out;
}

bool links_mpi(const system::Path& program) {
  const auto bytes = system::read_file(program);
  if (!bytes) return false;
  const auto executable =
      ptx::probe_executable(std::as_bytes(std::span(bytes->data(), bytes->size())));
  return executable && executable->mpi == ptx::Linked::Dynamically;
}

/// One sentence: how it ended, and the last thing that it said.
Error does_not_run(const targets::KeptRun& run) {
  std::string last;
  for (const std::string* text : {&run.errors, &run.out}) {
    for (const std::string_view line : split(*text, '\n')) {
      if (!trim(line).empty()) last = std::string(trim(line));
    }
    if (!last.empty()) break;
  }
  return {ErrorKind::InvalidInput, fmt::format("it {}{}", targets::ending_of(run),
                                               last.empty() ? "" : ": " + printable(last))};
}

Result<std::vector<Reported>> run_program(const TraceRequest& request) {
  targets::ServerOptions options;
  CUCO_TRY_ASSIGN(options.topology,
                  targets::find_topology(std::string(judge::usual_topology(request.ranks))));
  CUCO_TRY_ASSIGN(const std::string text, system::read_file(*options.topology));
  CUCO_TRY_ASSIGN(const fabric::Topology topology,
                  fabric::parse_topology(text, options.topology->string()));
  CUCO_TRY_ASSIGN(options.gpu, system::find_data("hardware/" + topology.gpu + ".toml"));
  CUCO_TRY_ASSIGN(const auto gpu, hardware::load_gpu_description(options.gpu.string(), {}));
  request.progress("building the program …");
  std::vector<std::string> flags = request.flags;
  for (const std::string& folder : request.includes)
    flags.push_back("-I" + std::filesystem::absolute(folder).string());
  std::vector<system::Path> sources{request.program};
  sources.insert(sources.end(), request.others.begin(), request.others.end());
  CUCO_TRY_ASSIGN(const system::Path program,
                  run::build_program({.sources = std::move(sources),
                                      .flags = std::move(flags),
                                      .cache = system::cache_folder(system::Environment::current()),
                                      .sm = gpu.compute_major * 10 + gpu.compute_minor}));
  targets::ProgramStart start{{program.string()}, links_mpi(program), {}};
  start.argv.insert(start.argv.end(), request.arguments.begin(), request.arguments.end());
  options.devices = static_cast<std::uint32_t>(request.ranks);
  options.processes = start.uses_mpi ? options.devices : 1;
  options.reports = true;
  options.blocks = true;
  request.progress("running it on the virtual cluster …");
  CUCO_TRY_ASSIGN(const targets::KeptRun run,
                  targets::run_and_keep(start, options, InterruptScope::requested));
  if (run.ending.server_failed || run.ending.interrupted || !run.ending.program.succeeded())
    return does_not_run(run);
  return std::vector<Reported>{{"", {}, run.report}};
}

void note_left_out(const analysis::SeenRun& run, std::vector<std::string>& out) {
  std::size_t launches = 0;
  for (const vcluster::TracedStep& step : run.record.steps)
    launches += step.is_dropped ? 1 : 0;
  const std::string in = run.shape.empty() ? "" : " of " + run.shape;
  if (launches > 0)
    out.push_back(
        fmt::format("{} launches{} had no room for what their blocks touch", launches, in));
  if (run.record.dropped_steps > 0)
    out.push_back(fmt::format("the last {} launches, copies and collectives{} had no room",
                              run.record.dropped_steps, in));
}

}  // namespace

Result<Observations> observe(const TraceRequest& request,
                             const analysis::CommunicationGraph& graph) {
  CUCO_TRY_ASSIGN(const std::vector<Reported> reports,
                  std::filesystem::is_directory(request.program) ? run_workload(request)
                                                                 : run_program(request));
  Observations out;
  std::vector<analysis::SeenRun> runs;
  for (const Reported& reported : reports) {
    CUCO_TRY_ASSIGN(const Json json, parse_json(reported.report));
    out.gpu = json.value("gpu", "?");
    CUCO_TRY_ASSIGN(auto record, vcluster::read_block_record(json.value("blocks", Json::object())));
    runs.push_back({reported.shape, reported.parameters, std::move(record), reported.given});
    note_left_out(runs.back(), out.left_out);
  }
  out.maps = analysis::find_maps(graph, runs);
  out.overlaps.resize(graph.sites.size());
  for (const analysis::SeenRun& run : runs) {
    const auto seen = analysis::observe_overlaps(graph, run.record);
    for (std::size_t i = 0; i < seen.size(); ++i) {
      if (seen[i].seen > 0) out.overlaps[i] = seen[i];
    }
  }
  return out;
}

}  // namespace cuco::cli
