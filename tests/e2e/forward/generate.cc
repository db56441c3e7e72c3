// SPDX-License-Identifier: Apache-2.0
// Prints a program whose exchanges store straight into the receivers' memory:
// generate DESIGN PROGRAM.cu [INCLUDE], with any of the words of DESIGN, joined by commas:
// producers, leaves, straight, lanes, graph.
#include <cstdio>

#include "analysis/analyse.h"
#include "expert/forward/forward.h"
#include "system/os/files.h"

int main(int argc, char** argv) {
  using namespace cuco;
  if (argc < 3) return 2;
  const std::string_view words = argv[1];
  const auto asked = [&](std::string_view word) { return words.find(word) != words.npos; };
  const expert::forward::ForwardDesign design{.by_producers = asked("producers"),
                                              .leaves = asked("leaves"),
                                              .straight = asked("straight"),
                                              .laned = asked("lanes"),
                                              .recorded = asked("graph"),
                                              .blocks = asked("lanes") ? 16 : 32};
  const auto text = system::read_file(argv[2]);
  if (!text) return 2;
  analysis::AnalysisOptions options;
  for (int i = 3; i < argc; ++i)
    options.include_paths.emplace_back(argv[i]);
  const auto graph = analysis::analyse("program.cu", *text, options);
  const auto made = graph ? expert::forward::forward_sends(*graph, *text, design)
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
