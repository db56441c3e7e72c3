// SPDX-License-Identifier: Apache-2.0
// Prints a program whose kernels send what they store: generate PROGRAM.cu [INCLUDE]
#include <cstdio>

#include "analysis/analyse.h"
#include "expert/forward/forward.h"
#include "system/os/files.h"

int main(int argc, char** argv) {
  using namespace cuco;
  if (argc < 2) return 2;
  const auto text = system::read_file(argv[1]);
  if (!text) return 2;
  analysis::AnalysisOptions options;
  for (int i = 2; i < argc; ++i)
    options.include_paths.emplace_back(argv[i]);
  const auto graph = analysis::analyse("program.cu", *text, options);
  const auto made = graph ? expert::forward::forward_sends(*graph, *text)
                          : Result<expert::forward::Forwarded>(graph.error());
  if (!made) {
    std::fprintf(stderr, "%s\n", made.error().message().c_str());
    return 1;
  }
  for (const auto& refused : made->refused)
    std::fprintf(stderr, "%s\n", refused.c_str());
  std::fputs(made->program.c_str(), stdout);
  return 0;
}
