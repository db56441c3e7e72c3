// SPDX-License-Identifier: Apache-2.0
// test_kernel_rewrite PROGRAM PART…: the program with its kernels rewritten, on standard output.
#include "expert/kernels/writing/rewrite.h"

#include <cstdio>

#include "analysis/analyse.h"

int main(int argc, char** argv) {
  using namespace cuco;  // NOLINT(google-build-using-namespace)
  const auto text = argc < 2 ? Result<std::string>(Error{ErrorKind::InvalidInput, "no program"})
                             : system::read_file(argv[1]);
  if (!text) {
    std::fprintf(stderr, "%s\n", text.error().message().c_str());
    return 2;
  }
  design::KernelDesign design;
  for (int i = 2; i < argc; ++i) {
    if (!design::read_part(argv[i], design)) std::fprintf(stderr, "unknown: %s\n", argv[i]);
  }
  const auto graph = analysis::analyse("program.cu", *text, {});
  const auto made = graph ? expert::kernels::rewrite_kernels(*graph, *text, design) : graph.error();
  if (!made) {
    std::fprintf(stderr, "%s\n", made.error().message().c_str());
    return 1;
  }
  std::fputs(made->c_str(), stdout);
  return 0;
}
