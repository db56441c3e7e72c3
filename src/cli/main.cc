// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <exception>
#include <filesystem>
#include <string>
#include <vector>

#include "base/printable.h"
#include "cli/application.h"

int main(int argc, char** argv) {
  try {
    const std::vector<std::string> words(argv + 1, argv + argc);
    const auto code = cuco::cli::run_application(words, stdout, stderr);
    // What nobody could read was not done: a full disk, a closed descriptor.
    if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return static_cast<int>(code);
    std::fputs("cuco: not all of the output could be written\n", stderr);
    return static_cast<int>(code == cuco::cli::ExitCode::Done ? cuco::cli::ExitCode::JobFailed
                                                              : code);
  } catch (const std::filesystem::filesystem_error& failure) {
    // A name that the system does not take: too long, links in a circle, a closed folder.
    const std::string path = failure.path1().string();
    std::fprintf(stderr, "cuco: %s: %s\n",
                 path.empty() ? "the current folder" : cuco::printable(path).c_str(),
                 failure.code().message().c_str());
    return static_cast<int>(cuco::cli::ExitCode::BadUsage);
  } catch (const std::exception& failure) {
    // Ours are Results: what arrives here was thrown by a library and is a bug of ours.
    std::fprintf(stderr, "cuco: internal error: %s\n", failure.what());
    return static_cast<int>(cuco::cli::ExitCode::Internal);
  }
}
