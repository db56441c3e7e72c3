// SPDX-License-Identifier: Apache-2.0
// What a person sees who gets it wrong: one sentence that names the value and what to do, before
// anything is built or judged, and nothing is left behind.
#include <filesystem>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "shell.h"
#include "system/os/files.h"

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
  (void)shell("truncate -s 1G huge.cu");
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
                                      "cuco optimize silu_and_mul --budget 1e99h",
                                      "cuco optimize silu_and_mul --jobs 0",
                                      "cuco optimize silu_and_mul --window 0",
                                      "cuco optimize silu_and_mul --policy fastest",
                                      "cuco optimize silu_and_mul --proposer expret",
                                      "cuco optimize silu_and_mul --proposer \"\"",
                                      "cuco optimize silu_and_mul --endpoint http://localhost",
                                      "cuco optimize silu_and_mul --record answers.jsonl",
                                      "cuco tune silu_and_mul --proposer expert --model vllm:x",
                                      "cuco optimize silu_and_mul --proposer expert --model gpt-5",
                                      "cuco optimize silu_and_mul --topology nvlnk8",
                                      "cuco optimize silu_and_mul --ranks 4",
                                      "cuco optimize silu_and_mul --bugdet 5m",
                                      "cuco optimize silu_and_mul --set search.bugdet=5m",
                                      "cuco evolve silu_and_mul --start nosuch.cu",
                                      "cuco evolve silu_and_mul --start huge.cu",
                                  }));
  EXPECT_FALSE(std::filesystem::exists(shell.folder() / "runs"));
}

TEST(Misuse, OfOtherCommandsIsToldInASentence) {
  const Shell shell;
  shell.write("p.cu", "int main() {}\n");
  shell.write("empty.cu", "");
  expect_golden("misuse-others", transcript(shell, {
                                                       "cuco run nowhere.cu",
                                                       "cuco run --ranks 0 p.cu",
                                                       "cuco run --topology nvlnk8 p.cu",
                                                       "cuco run --hardware k80 p.cu",
                                                       "cuco runs",
                                                       "cuco show last",
                                                       "cuco analyze p.cu q.cu",
                                                       "cuco space --ranks 0 p.cu",
                                                       "cuco resume 9",
                                                       "cuco judge nosuch p.cu",
                                                       "cuco check nosuch",
                                                       "cuco init my.workload",
                                                       "cuco init mine --ranks 0",
                                                       "cuco init mine --topology nvlnk8",
                                                       "cuco init mine --from nosuch.cu",
                                                       "cuco init mine --from empty.cu",
                                                       "cuco knowledge forget \"\"",
                                                       "cuco knowledge merge /dev/zero",
                                                   }));
  EXPECT_FALSE(std::filesystem::exists(shell.folder() / "mine"));
}

TEST(Misuse, OfMpirunIsAnsweredWithTheWordsThatStartTheRanks) {
  const Shell shell;
  shell.write("p.cu", "int main() {}\n");
  expect_golden("misuse-mpirun", transcript(shell, {
                                                       "OMPI_COMM_WORLD_SIZE=2 cuco run p.cu",
                                                       "PMI_SIZE=16 cuco run p.cu",
                                                   }));
}

/// A program that needs no compiler: it says what it was given.
Shell shell_with_a_script() {
  Shell shell;
  shell.write("p", "#!/bin/sh\necho \"program: $*.\"\n");
  (void)shell("chmod +x p");
  return shell;
}

TEST(Conventions, TheProgramGetsTheWordsBehindItAsUnderMpirun) {
  const Shell shell = shell_with_a_script();
  expect_golden("run-arguments", transcript(shell, {
                                                       "cuco run p one two",
                                                       "cuco run p -- one two",
                                                       "cuco run --ranks 2 p --steps 5",
                                                       "cuco run p --ranks 2",
                                                       "cuco run p --chekc",
                                                   }));
}

TEST(Conventions, TheAssumedClusterIsAnnounced) {
  const Shell shell = shell_with_a_script();
  expect_golden("run-cluster", transcript(shell, {
                                                     "cuco run --ranks 8 p",
                                                     "cuco run --ranks 16 p",
                                                     "cuco run --topology ib2x8 p",
                                                     "cuco run --topology ib2x8 --ranks 4 p",
                                                     "cuco run --topology ib2x8 --ranks 10 p",
                                                     "cuco run --topology ib2x8 --ranks 4 "
                                                     "--per-node 2 p",
                                                     "cuco run --topology ib2x8 --ranks 17 p",
                                                     "cuco run --topology ib2x8 --ranks 3 "
                                                     "--per-node 2 p",
                                                     "cuco run --topology ib2x8 --ranks 8 "
                                                     "--per-node 2 p",
                                                     "cuco run --per-node 2 p",
                                                 }));
}

/// Of a search: tests/e2e/newcomer/ctrl_c.py. Without --foreground timeout sends two signals.
TEST(Conventions, CtrlCEndsARunWithAWordAndTheCodeThatShellsExpect) {
  const Shell shell;
  shell.write("p", "#!/bin/sh\nexec sleep 60\n");
  (void)shell("chmod +x p");
  expect_golden(
      "run-ctrl-c",
      transcript(shell, {
                            "timeout --foreground --preserve-status -s INT 1 cuco run p",
                            "timeout --foreground --preserve-status -s INT 1 cuco run --check p",
                        }));
}

TEST(Conventions, CompletionOffersWhatThereIs) {
  const Shell shell;
  (void)shell("mkdir -p runs/0001 runs/0012 && touch runs/0001/events.db runs/0012/events.db");
  expect_golden("completion-values", transcript(shell, {
                                                           "cuco completion values topology",
                                                           "cuco completion values hardware",
                                                           "cuco completion values workload",
                                                           "cuco completion values run",
                                                           "cuco completion values color",
                                                           "cuco completion ksh",
                                                       }));
}

TEST(Conventions, JsonIsJsonWhateverIsShown) {
  const Shell shell;
  ASSERT_EQ(shell("cuco demo --quiet").exit_code, 0);
  for (const char* words :
       {"runs", "show demo", "show demo 4", "show demo 4 --code", "show demo 4 --diff",
        "diff demo 0 4", "explain demo", "cost demo", "db verify demo", "report demo --no-timeline",
        "knowledge show", "config", "doctor", "llm list", "replay demo --seeds 2", "init mine"}) {
    const Seen seen = shell(std::string("cuco --json ") + words);
    EXPECT_EQ(seen.exit_code, 0) << words << seen.error;
    EXPECT_TRUE(parse_json(seen.out).has_value()) << words << "\n" << seen.out.substr(0, 200);
  }
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

TEST(Misuse, OfWhereResultsGoIsToldBeforeAnythingRuns) {
  const Shell shell = [] {
    Shell made;
    made.write("p", "#!/bin/sh\necho it runs\n");
    (void)made("chmod +x p");
    return made;
  }();
  expect_golden("misuse-places",
                transcript(shell, {
                                      "cuco run --check --json no/f.json p",
                                      "cuco run --profile-json / p",
                                      "cuco run --timeline /dev/null p",
                                      "cuco config >/dev/full",
                                      "mkdir gone; cd gone; rmdir ../gone; cuco run p",
                                  }));
}

TEST(Misuse, OfInitTakesNothingFromWhoHasAProgramThere) {
  const Shell shell;
  (void)shell("mkdir mine");
  shell.write("mine/program.cu", "my own");
  EXPECT_EQ(shell("cuco init mine").error, "cuco: already exists: mine/program.cu\n");
  EXPECT_EQ(*system::read_file(shell.folder() / "mine/program.cu"), "my own");
}

/// What stands in workload.toml is read again: names and words may hold what TOML and C++ obey.
TEST(Misuse, OfNamesAndWordsIsKeptOutOfWhatInitWrites) {
  const Shell shell;
  shell.write("a\"b\\\n.cu", "int main() {}\n");
  shell.write("words.sh", "cuco init mine --from a*.cu -- \"it's\" 'a\"b\\'\n");
  EXPECT_EQ(shell("sh words.sh").exit_code, 0);
  const std::string text = *system::read_file(shell.folder() / "mine/workload.toml");
  EXPECT_THAT(text, testing::HasSubstr(R"(summary = "a_b__.cu, as a whole")"));
  EXPECT_THAT(text, testing::HasSubstr(R"(args = ["it's", "a\"b\\"])"));
}

}  // namespace
}  // namespace cuco::test
