// SPDX-License-Identifier: Apache-2.0
#include "toolchain/library_flags.h"

#include <algorithm>
#include <array>
#include <chrono>

#include "base/text.h"
#include "system/jobs/process.h"
#include "system/os/environment.h"

namespace cuco::toolchain {
namespace {

/// The flags of `mpicc --showme` that suit every compiler. Without a wrapper none: then the
/// program's own flags must do, or the compiler says what it lacks.
std::vector<std::string> mpi_flags() {
  const auto environment = system::Environment::current();
  const auto wrapper = system::find_program("mpicc", environment.get("PATH").value_or(""));
  if (!wrapper) return {};
  constexpr std::array<std::string_view, 4> kKinds = {"-I", "-D", "-L", "-l"};
  // Its C++ binding, long withdrawn, would want a library more.
  std::vector<std::string> flags = {"-DOMPI_SKIP_MPICXX"};
  for (const char* part : {"--showme:compile", "--showme:link"}) {
    system::JobSpec spec;
    spec.command.argv = {wrapper->string(), part};
    spec.command.environment = environment;
    spec.limits.wall = std::chrono::seconds(10);
    const auto outcome = system::run_job(spec);
    if (!outcome || !outcome->succeeded()) return {};
    for (const std::string_view word : split(trim(outcome->out), ' ')) {
      if (std::ranges::any_of(kKinds, [&](auto kind) { return word.starts_with(kind); }))
        flags.emplace_back(word);
    }
  }
  return flags;
}

}  // namespace

std::vector<std::string> library_flags(std::string_view text) {
  const auto includes = [&](const std::string& header) {
    return text.find("<" + header + ">") != std::string_view::npos ||
           text.find("\"" + header + "\"") != std::string_view::npos;
  };
  std::vector<std::string> flags;
  if (text.find("nccl") != std::string_view::npos) flags.emplace_back("-lnccl");
  if (includes("cuda.h")) flags.emplace_back("-lcuda");
  if (includes("nvrtc.h")) flags.emplace_back("-lnvrtc");
  // NVIDIA's library where the program is built, ours where it runs.
  if (includes("cublas_v2.h") || includes("cublas.h")) flags.emplace_back("-lcublas");
  if (includes("cublasLt.h")) flags.emplace_back("-lcublasLt");
  if (includes("cufft.h")) flags.emplace_back("-lcufft");
  if (includes("curand.h")) flags.emplace_back("-lcurand");
  if (includes("mpi.h")) {
    const auto mpi = mpi_flags();
    flags.insert(flags.end(), mpi.begin(), mpi.end());
  }
  return flags;
}

}  // namespace cuco::toolchain
