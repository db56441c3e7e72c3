// SPDX-License-Identifier: Apache-2.0
#include "toolchain/nvcc.h"

#include <fmt/format.h>

#include "base/printable.h"
#include "toolchain/library_flags.h"

namespace cuco::toolchain {

std::string Nvcc::identity() const {
  std::error_code ignored;
  const auto changed = std::filesystem::last_write_time(toolkit_.nvcc(), ignored);
  return fmt::format("{} {}", toolkit_.nvcc().string(), changed.time_since_epoch().count());
}

Result<system::JobOutcome> Nvcc::run(std::vector<std::string> words, const NvccJob& job) const {
  system::JobSpec spec;
  spec.command.argv = {toolkit_.nvcc().string()};
  spec.command.argv.insert(spec.command.argv.end(), std::make_move_iterator(words.begin()),
                           std::make_move_iterator(words.end()));
  spec.command.folder = job.folder;
  spec.limits = job.limits;
  spec.sandbox = job.sandbox;
  if (!job.sandbox) {
    spec.command.environment = system::Environment::current();
    return system::run_job(spec);
  }
  spec.command.environment = system::Environment::bare();
  spec.command.environment.set(
      "PATH", fmt::format("{}:/usr/local/bin:/usr/bin:/bin", toolkit_.programs().string()));
  for (const system::Path& folder : toolkit_.outside_system())
    spec.sandbox->read_only.push_back(folder);
  return system::run_job(spec);
}

std::vector<std::string> program_flags(const CudaToolkit& toolkit,
                                       std::string_view architecture,
                                       const std::vector<std::string>& own,
                                       std::string_view text) {
  std::vector<std::string> flags = {
      "-cudart", "shared", "-O3", "-std=c++17", "-lineinfo",
      // PTX to run; machine code for its register counts.
      "-gencode", fmt::format("arch=compute_{0},code=[compute_{0},sm_{0}]", architecture)};
  const auto append = [&](const std::vector<std::string>& more) {
    flags.insert(flags.end(), more.begin(), more.end());
  };
  append(own);
  append(toolkit.nccl_flags());
  append(library_flags(text));
  return flags;
}

std::string compiler_message(const system::JobOutcome& outcome, const system::Path& folder) {
  std::string text = outcome.out + outcome.err;
  const std::string prefix = folder.string() + "/";
  for (std::size_t at = text.find(prefix); at != std::string::npos; at = text.find(prefix, at))
    text.erase(at, prefix.size());
  constexpr std::size_t kMost = 8000;
  if (text.size() > kMost) text = text.substr(0, kMost) + "\n[...]";
  return printable(text);
}

}  // namespace cuco::toolchain
