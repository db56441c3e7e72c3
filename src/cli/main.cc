// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include "cli/application.h"

int main(int argc, char** argv) {
  try {
    const std::vector<std::string> words(argv + 1, argv + argc);
    return static_cast<int>(cuco::cli::run_application(words, stdout, stderr));
  } catch (const std::exception& failure) {
    // Ours are Results: what arrives here was thrown by a library and is a bug of ours.
    std::fprintf(stderr, "cuco: internal error: %s\n", failure.what());
    return static_cast<int>(cuco::cli::ExitCode::Internal);
  }
}
