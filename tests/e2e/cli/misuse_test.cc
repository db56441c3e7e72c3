// SPDX-License-Identifier: Apache-2.0
// What a person sees who gets it wrong: one sentence that names the value and what to do, before
// anything is built or judged, and nothing is left behind.
#include <filesystem>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shell.h"

namespace cuco::test {
namespace {

/// "$ cuco …", what it said, and its exit code.
std::string transcript(const Shell& shell, const std::string& command) {
  const Seen seen = shell(command);
  return fmt::format("$ {}\n{}{}exit {}\n\n", command, seen.out, seen.error, seen.exit_code);
}

std::string transcript(const Shell& shell, std::initializer_list<const char*> commands) {
  std::string text;
  for (const char* command : commands)
    text += transcript(shell, command);
  return text;
}

TEST(Misuse, OfOptimizeIsToldBeforeAnythingIsJudgedAndLeavesNoRun) {
  const Shell shell;
  expect_golden("misuse-optimize",
                transcript(shell, {
                                      "cuco optimise silu_and_mul",
                                      "cuco optimize",
                                      "cuco optimize nosuch",
                                      "cuco optimize silu_and_mul --candidates -3",
                                      "cuco optimize silu_and_mul --candidates 0",
                                      "cuco optimize silu_and_mul --candidates x",
                                      "cuco optimize silu_and_mul --budget 0s",
                                      "cuco optimize silu_and_mul --budget -5m",
                                      "cuco optimize silu_and_mul --jobs 0",
                                      "cuco optimize silu_and_mul --window 0",
                                      "cuco optimize silu_and_mul --policy fastest",
                                      "cuco optimize silu_and_mul --proposer expret",
                                      "cuco optimize silu_and_mul --topology nvlnk8",
                                      "cuco optimize silu_and_mul --ranks 4",
                                      "cuco optimize silu_and_mul --bugdet 5m",
                                      "cuco optimize silu_and_mul --set search.bugdet=5m",
                                      "cuco evolve silu_and_mul --start nosuch.cu",
                                  }));
  EXPECT_FALSE(std::filesystem::exists(shell.folder() / "runs"));
}

TEST(Misuse, OfOtherCommandsIsToldInASentence) {
  const Shell shell;
  shell.write("p.cu", "int main() {}\n");
  expect_golden("misuse-others", transcript(shell, {
                                                       "cuco run nowhere.cu",
                                                       "cuco run --ranks 0 p.cu",
                                                       "cuco run --topology nvlnk8 p.cu",
                                                       "cuco run --hardware k80 p.cu",
                                                       "cuco runs",
                                                       "cuco show last",
                                                       "cuco resume 9",
                                                       "cuco judge nosuch p.cu",
                                                       "cuco check nosuch",
                                                       "cuco init my.workload",
                                                       "cuco init mine --ranks 0",
                                                       "cuco init mine --topology nvlnk8",
                                                       "cuco init mine --from nosuch.cu",
                                                   }));
  EXPECT_FALSE(std::filesystem::exists(shell.folder() / "mine"));
}

TEST(Misuse, OfBestAndInitDoesNotOverwrite) {
  const Shell shell;
  expect_golden("misuse-overwrite", transcript(shell, {
                                                          "cuco demo --quiet >demo.txt 2>&1",
                                                          "cuco best demo -o faster",
                                                          "cuco best demo -o faster",
                                                          "cuco best demo -o faster --force",
                                                          "cuco init mine",
                                                          "cuco init mine",
                                                      }));
}

}  // namespace
}  // namespace cuco::test
