// SPDX-License-Identifier: Apache-2.0
//
// Not hostile: runs a job inside a sandbox, where no second sandbox can be built, so that missing
// fences can be tested on a machine that has them all. Argument: hostile or own.
#include <string_view>

#include <fmt/format.h>

#include "system/jobs/process.h"

int main(int argc, char** argv) {
  using namespace cuco::system;  // NOLINT(google-build-using-namespace): a program of one page
  JobSpec spec;
  spec.command.argv = {"/bin/echo", "ran"};
  spec.command.environment = Environment::bare();
  spec.limits.memory = std::uint64_t{64} << 20U;
  spec.sandbox = SandboxSpec{};
  const bool own = argc > 1 && std::string_view(argv[1]) == "own";
  spec.sandbox->tier = own ? Tier::Own : Tier::Hostile;
  const auto outcome = run_job(spec);
  if (!outcome) {
    fmt::print("error: {}\n", outcome.error().message());
    return 1;
  }
  fmt::print("{}{}\n", outcome->out, describe(*outcome));
  for (const MissingFence& missing : outcome->missing) {
    fmt::print("missing: {}\n", name_of(missing.fence));
  }
  return 0;
}
