// SPDX-License-Identifier: Apache-2.0
#include "analysis/analyse.h"

#include <chrono>

#include <fmt/format.h>

#include "system/jobs/process.h"
#include "system/os/environment.h"
#include "toolchain/cuda_toolkit.h"
#include "toolchain/library_flags.h"

namespace cuco::analysis {
namespace {

constexpr auto kDeadline = std::chrono::seconds(300);
constexpr std::size_t kMaxSyntax = std::size_t{256} << 20U;

Error missing_parser(std::string_view why) {
  return {ErrorKind::NotFound,
          fmt::format("the CUDA parser is missing ({}): install libclang-19-dev and rebuild", why)};
}

}  // namespace

Result<CommunicationGraph> analyse(std::string_view name,
                                   std::string_view text,
                                   const AnalysisOptions& options) {
  auto helper = system::find_helper("cuco-analyse");
  if (!helper) return missing_parser("cuco-analyse was not built");
  auto cuda = options.cuda;
  if (cuda.empty()) {
    CUCO_TRY_ASSIGN(const auto toolkit, toolchain::find_cuda(system::Environment::current()));
    cuda = toolkit.root;
  }
  system::JobSpec job;
  job.command.argv = {helper->string(), std::string(name), cuda.string()};
  for (const auto& path : options.include_paths)
    job.command.argv.push_back(path.string());
  const auto pass_on = [&](const std::vector<std::string>& flags) {
    for (const std::string& flag : flags) {
      const auto kind = flag.substr(0, 2);
      const bool is_known = kind == "-I" || kind == "-D" || kind == "-U";
      if (is_known && flag.size() > 2) job.command.argv.push_back(flag);
    }
  };
  pass_on(toolchain::library_flags(text));
  pass_on(options.flags);
  job.command.environment = system::Environment::bare();
  job.command.input = std::string(text);
  job.limits.wall = kDeadline;
  job.limits.output = kMaxSyntax;
  CUCO_TRY_ASSIGN(const system::JobOutcome outcome, system::run_job(job));
  if (!outcome.succeeded()) {
    // The loader exits so when libclang is gone that the helper was linked with.
    constexpr int kLoaderFailed = 127;
    if (outcome.ending == system::Ending::NotStarted || outcome.code == kLoaderFailed) {
      return missing_parser(outcome.err.empty() ? describe(outcome) : outcome.err);
    }
    return Error{ErrorKind::Protocol,
                 fmt::format("analyse '{}': {}: {}", name, describe(outcome), outcome.err)};
  }
  CUCO_TRY_ASSIGN(Syntax syntax, parse_syntax(outcome.out));
  return build_graph(std::move(syntax));
}

}  // namespace cuco::analysis
