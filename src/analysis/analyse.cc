// SPDX-License-Identifier: Apache-2.0
#include "analysis/analyse.h"

#include <chrono>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "analysis/remembered_texts.h"
#include "base/hash.h"
#include "system/jobs/process.h"
#include "system/os/environment.h"
#include "toolchain/cuda_toolkit.h"
#include "toolchain/library_flags.h"
#include "toolchain/parser_flags.h"

namespace cuco::analysis {
namespace {

constexpr auto kDeadline = std::chrono::seconds(300);
constexpr std::size_t kMaxSyntax = std::size_t{256} << 20U;
constexpr std::size_t kMostRemembered = std::size_t{32} << 20U;

Error missing_parser(std::string_view why) {
  return {ErrorKind::NotFound,
          fmt::format("the CUDA parser is missing ({}): install libclang-19-dev and rebuild", why)};
}

/// What the helper writes. A search reads the same programs again and again, and one takes a
/// second.
Result<std::string> run_helper(const system::JobSpec& job, std::string_view name) {
  static RememberedTexts outputs(kMostRemembered);
  const Digest question =
      sha256(fmt::format("{}\n{}", fmt::join(job.command.argv, "\n"), job.command.input));
  if (auto known = outputs.find(question)) return *std::move(known);
  CUCO_TRY_ASSIGN(system::JobOutcome outcome, system::run_job(job));
  if (!outcome.succeeded()) {
    // The loader exits so when libclang is gone that the helper was linked with.
    constexpr int kLoaderFailed = 127;
    if (outcome.ending == system::Ending::NotStarted || outcome.code == kLoaderFailed) {
      return missing_parser(outcome.err.empty() ? describe(outcome) : outcome.err);
    }
    return Error{ErrorKind::Protocol,
                 fmt::format("analyse '{}': {}: {}", name, describe(outcome), outcome.err)};
  }
  outputs.add(question, outcome.out);
  return std::move(outcome.out);
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
    for (std::string& flag : toolchain::parser_flags(flags))
      job.command.argv.push_back(std::move(flag));
  };
  pass_on(toolchain::library_flags(text));
  pass_on(options.flags);
  job.command.environment = system::Environment::bare();
  job.command.input = std::string(text);
  job.limits.wall = kDeadline;
  job.limits.output = kMaxSyntax;
  CUCO_TRY_ASSIGN(const std::string syntax, run_helper(job, name));
  CUCO_TRY_ASSIGN(Syntax parsed, parse_syntax(syntax));
  return build_graph(std::move(parsed));
}

}  // namespace cuco::analysis
