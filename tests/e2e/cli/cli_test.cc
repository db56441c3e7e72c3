// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <filesystem>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "cli/commands/commands.h"
#include "shell.h"

namespace cuco::test {
namespace {

using ::testing::HasSubstr;

constexpr int kScreenLines = 40;
constexpr int kScreenColumns = 100;

void expect_fits_a_screen(const std::string& text) {
  const auto lines = split(text, '\n');
  EXPECT_LE(lines.size(), kScreenLines);
  for (const std::string_view line : lines)
    EXPECT_LE(cli::display_width(line), kScreenColumns) << line;
}

TEST(Help, FitsAScreenGivesAnExampleAndExitsZero) {
  const Shell shell;
  const Seen seen = shell("cuco --help");
  EXPECT_EQ(seen.exit_code, 0);
  EXPECT_THAT(seen.out, HasSubstr("example: cuco "));
  expect_fits_a_screen(seen.out);
  expect_golden("help", seen.out);
}

TEST(Help, OfEveryCommandFitsAScreenAndGivesAnExample) {
  const Shell shell;
  for (const cli::CommandEntry& entry : cli::all_commands()) {
    const Seen seen = shell(fmt::format("cuco {} --help", entry.name));
    EXPECT_EQ(seen.exit_code, 0) << entry.name;
    EXPECT_THAT(seen.out, HasSubstr("example: ")) << entry.name;
    expect_fits_a_screen(seen.out);
    expect_golden(fmt::format("help-{}", entry.name), seen.out);
  }
}

TEST(Help, IsShownWhenNothingIsAskedWithTheCodeOfBadUsage) {
  EXPECT_EQ(Shell()("cuco").exit_code, 2);
}

TEST(Version, IsOneLine) {
  const Seen seen = Shell()("cuco --version");
  EXPECT_EQ(seen.exit_code, 0);
  EXPECT_THAT(seen.out, ::testing::MatchesRegex("cuco [0-9]+\\.[0-9]+\\.[0-9]+\n"));
}

TEST(Usage, MisspeltCommandSuggestsTheNearOne) {
  const Seen seen = Shell()("cuco optimise workloads/moe");
  EXPECT_EQ(seen.exit_code, 2);
  EXPECT_EQ(seen.error, "cuco: no command 'optimise'; did you mean 'optimize'?\n");
  EXPECT_EQ(seen.out, "");
}

TEST(Usage, MisspeltOptionSuggestsTheNearOne) {
  const Seen seen = Shell()("cuco config --jason");
  EXPECT_EQ(seen.exit_code, 2);
  EXPECT_THAT(seen.error, HasSubstr("no option '--jason'; did you mean '--json'?"));
  EXPECT_THAT(seen.error, HasSubstr("cuco config --help"));
}

TEST(Usage, AMissingWorkloadIsNamed) {
  const Seen seen = Shell()("cuco optimize nosuch");
  EXPECT_EQ(seen.exit_code, 2);
  EXPECT_THAT(seen.error, HasSubstr("nosuch"));
}

TEST(Run, RefusesNumbersOutOfRange) {
  const Shell shell;
  shell.write("p.cu", "int main() {}\n");
  for (const char* words : {"--ranks 0", "--ranks 65", "--processes 0", "--processes -1"}) {
    const Seen seen = shell(std::string("cuco run ") + words + " p.cu");
    EXPECT_EQ(seen.exit_code, 2) << words;
    EXPECT_THAT(seen.error, HasSubstr("must be 1 to 64")) << words;
  }
}

TEST(Run, AnUnknownMachineIsAnsweredWithThoseThatThereAre) {
  const Shell shell;
  shell.write("p.cu", "int main() {}\n");
  const Seen topology = shell("cuco run --topology nvlnk8 p.cu");
  EXPECT_EQ(topology.exit_code, 2);
  EXPECT_THAT(topology.error, HasSubstr("no topology 'nvlnk8' (did you mean 'nvlink8'?); give a "
                                        "file, or one of ib2x1, ib2x2, ib2x8, ib4x1, nvlink4"));
  EXPECT_THAT(shell("cuco run --hardware k80 p.cu").error,
              HasSubstr("no GPU 'k80'; give a file, or one of a100, h100, h200"));
}

TEST(Run, RefusesPlacementsThatDoNotFit) {
  const Shell shell;
  shell.write("p.cu", "int main() {}\n");
  EXPECT_THAT(shell("cuco run --per-node 2 p.cu").error, HasSubstr("--topology NAME"));
  EXPECT_THAT(shell("cuco run --topology ib2x8 --ranks 3 --per-node 2 p.cu").error,
              HasSubstr("all nodes must have the same number of ranks"));
  EXPECT_THAT(shell("cuco run --topology ib2x8 --ranks 8 --per-node 2 p.cu").error,
              HasSubstr("has 2 nodes, too few for 8 ranks with 2 per node"));
}

TEST(Run, UnderMpirunItSaysWhoStartsTheRanks) {
  const Shell shell;
  shell.write("p.cu", "int main() {}\n");
  const Seen seen = shell("OMPI_COMM_WORLD_SIZE=2 cuco run p.cu");
  EXPECT_EQ(seen.exit_code, 2);
  EXPECT_THAT(seen.error, HasSubstr("use: cuco run --ranks 2"));
}

TEST(Run, MisspeltOptionsBehindTheProgramAreNoticed) {
  const Seen seen = Shell()("cuco run nowhere --chekc");
  EXPECT_THAT(seen.error,
              HasSubstr("note: '--chekc' goes to the program; did you mean '--check'?"));
}

TEST(Optimize, RefusesBudgetsThatAreNone) {
  const Shell shell;
  shell.write("p.cu", "int main() {}\n");
  for (const char* words : {"--candidates -3", "--candidates 0", "--budget 0s"}) {
    const Seen seen = shell(std::string("cuco optimize p.cu ") + words);
    EXPECT_EQ(seen.exit_code, 2) << words;
    EXPECT_FALSE(std::filesystem::exists(shell.folder() / "runs")) << words;
  }
}

TEST(Analyze, ShowsWhoMakesAndNeedsWhatIsCommunicated) {
  const Shell shell;
  const auto program =
      system::Path(CUCO_SOURCE_DIR) / "tests/golden/analysis/streams_and_events.cu";
  const Seen seen = shell(fmt::format("cuco analyze --no-trace {}", program.string()));
  if (seen.error.find("parser is missing") != std::string::npos) GTEST_SKIP() << seen.error;
  EXPECT_EQ(seen.exit_code, 0) << seen.error;
  expect_golden("analyze", seen.out);
}

/// Every command that reads a program says the same of one that it cannot take.
class CommandOfAProgram : public ::testing::TestWithParam<const char*> {
 protected:
  [[nodiscard]] Seen refused(const std::string& program) const {
    const Seen seen = shell_(fmt::format(fmt::runtime(GetParam()), program));
    EXPECT_EQ(seen.exit_code, 2) << seen.error;
    EXPECT_EQ(std::ranges::count(seen.error, '\n'), 1) << seen.error;
    EXPECT_FALSE(std::filesystem::exists(shell_.folder() / "new"));
    return seen;
  }
  Shell shell_;
  const std::string tests_ = (system::Path(CUCO_SOURCE_DIR) / "tests").string();
};

TEST_P(CommandOfAProgram, SaysInOneSentenceWhatItCannotRead) {
  EXPECT_THAT(refused(tests_ + "/golden/analysis/README.md").error, HasSubstr("not a CUDA source"));
  EXPECT_THAT(refused("nowhere.cu").error, HasSubstr("no such file or folder: nowhere.cu"));
  EXPECT_THAT(refused(tests_).error, HasSubstr("no workload.toml in"));
  const Seen broken = refused(tests_ + "/golden/analysis/broken.cu");
  if (broken.error.find("parser is missing") != std::string::npos) GTEST_SKIP() << broken.error;
  EXPECT_THAT(broken.error, HasSubstr("broken.cu:7: does not compile: use of undeclared"));
}

INSTANTIATE_TEST_SUITE_P(All,
                         CommandOfAProgram,
                         ::testing::Values("cuco analyze {}",
                                           "cuco space {}",
                                           "cuco transform {} -o new",
                                           "cuco optimize {}"),
                         [](const auto& command) {
                           const std::string text = command.param;
                           return text.substr(5, text.find(' ', 5) - 5);
                         });

TEST(Init, FromAProgramSplitsItAndSaysWhatToCheck) {
  const Shell shell;
  const auto program = system::Path(CUCO_SOURCE_DIR) / "tests/e2e/newcomer/sgd_mpi.cu";
  const Seen seen = shell(fmt::format("cuco init sgd --from {} --ranks 4", program.string()));
  EXPECT_EQ(seen.exit_code, 0) << seen.error;
  if (seen.out.find("parser is missing") != std::string::npos) GTEST_SKIP() << seen.out;
  EXPECT_THAT(seen.out, HasSubstr("split, with fresh inputs and an oracle: sgd/split"));
  expect_golden("split", shell("cat sgd/SPLIT.md").out);
  expect_golden("split-program", shell("cat sgd/split/program.cu").out);
  expect_golden("split-workload", shell("cat sgd/split/workload.toml").out);
}

TEST(Init, SaysInASentenceWhatStandsInTheWayOfASplit) {
  const Shell shell;
  const auto folder = system::Path(CUCO_SOURCE_DIR) / "tests/e2e/newcomer";
  const auto said = [&](const char* name) {
    return shell(fmt::format("cuco init {0} --from {1}/{0}.cu --ranks 4", name, folder.string()))
        .out;
  };
  const std::string threads = said("mlp");
  if (threads.find("parser is missing") != std::string::npos) GTEST_SKIP() << threads;
  EXPECT_THAT(threads, HasSubstr("not split: its ranks are threads of one process"));
  EXPECT_THAT(said("many_gpus"), HasSubstr("one process drives all GPUs (ncclCommInitAll)"));
  EXPECT_FALSE(std::filesystem::exists(shell.folder() / "mlp/split"));
}

TEST(Analyze, ReadsWithTheHeadersAndFlagsThatItIsGiven) {
  const Shell shell;
  std::filesystem::create_directory(shell.folder() / "inc");
  shell.write("inc/count.h", "#define COUNT WANTED\n");
  shell.write("p.cu",
              "#include <nccl.h>\n#include \"count.h\"\n"
              "void f(float* d, ncclComm_t c) {\n"
              "  ncclAllReduce(d, d, COUNT, ncclFloat, ncclSum, c, 0);\n}\n"
              "int main() { f(nullptr, nullptr); }\n");
  const Seen without = shell("cuco analyze p.cu");
  if (without.error.find("parser is missing") != std::string::npos) GTEST_SKIP() << without.error;
  EXPECT_THAT(without.error, HasSubstr("'count.h' file not found"));
  const Seen seen = shell("cuco analyze p.cu --no-trace --include inc --nvcc -DWANTED=64");
  EXPECT_EQ(seen.exit_code, 0) << seen.error;
  EXPECT_THAT(seen.out, HasSubstr("all-reduce"));
}

TEST(Analyze, JsonHasTheOverlapsOfAProfile) {
  const Shell shell;
  const auto program =
      system::Path(CUCO_SOURCE_DIR) / "tests/golden/analysis/streams_and_events.cu";
  shell.write("times.json", R"({"works": [], "phases": []})");
  const auto analyze = fmt::format("cuco --json analyze --no-trace {}", program.string());
  const Seen plain = shell(analyze);
  if (plain.error.find("parser is missing") != std::string::npos) GTEST_SKIP() << plain.error;
  EXPECT_FALSE(nlohmann::json::parse(plain.out)["sites"][0].contains("overlap"));
  const Seen seen = shell(analyze + " --profile times.json");
  EXPECT_EQ(seen.exit_code, 0) << seen.error;
  EXPECT_EQ(nlohmann::json::parse(seen.out)["sites"][0]["overlap"]["gain_us"], 0.0);
}

TEST(Analyze, AProgramWithoutCommunicationHasKernels) {
  const Shell shell;
  const auto program = system::Path(CUCO_SOURCE_DIR) / "tests/programs/no_communication.cu";
  const Seen silent = shell(fmt::format("cuco analyze {}", program.string()));
  if (silent.error.find("parser is missing") != std::string::npos) GTEST_SKIP() << silent.error;
  EXPECT_EQ(silent.exit_code, 2);
  EXPECT_THAT(silent.error, HasSubstr("does not communicate"));
  const Seen space = shell(fmt::format("cuco space {}", program.string()));
  EXPECT_EQ(space.exit_code, 0) << space.error;
  EXPECT_THAT(space.out, HasSubstr("vectors: 4, 8 or 16 bytes"));
}

TEST(Config, BrokenFileNamesFileAndLine) {
  const Shell shell;
  shell.write("cuco.toml", "[search]\nseeed = 3\n");
  const Seen seen = shell("cuco config");
  EXPECT_EQ(seen.exit_code, 2);
  EXPECT_EQ(seen.error,
            "cuco: cuco.toml:2: unknown key 'search.seeed' (did you mean 'search.seed'?)\n");
}

TEST(Config, ShowsValueAndOrigin) {
  const Shell shell;
  shell.write("cuco.toml", "[search]\nseed = 3\n");
  EXPECT_EQ(shell("cuco config search.seed").out, "search.seed  3  cuco.toml:2\n");
  EXPECT_EQ(shell("CUCO_SEARCH_SEED=4 cuco config search.seed").out,
            "search.seed  4  CUCO_SEARCH_SEED\n");
  EXPECT_EQ(shell("CUCO_SEARCH_SEED=4 cuco config --set search.seed=5 search.seed").out,
            "search.seed  5  --set\n");
  const auto json = nlohmann::json::parse(shell("cuco --json config").out);
  EXPECT_EQ(json["search.seed"]["value"], "3");
  EXPECT_EQ(json["search.seed"]["origin"], "cuco.toml:2");
}

TEST(Doctor, ExitsZeroAndNamesTheTargets) {
  const Seen seen = Shell()("cuco doctor");
  EXPECT_EQ(seen.exit_code, 0) << seen.error;
  for (const char* topic :
       {"compiler", "NCCL", "GPUs", "CPU", "MPI", "sandbox", "models", "targets"}) {
    EXPECT_THAT(seen.out, HasSubstr(topic));
  }
}

TEST(Doctor, JsonHasEveryFenceAndTarget) {
  const auto json = nlohmann::json::parse(Shell()("cuco doctor --json").out);
  EXPECT_EQ(json["targets"].size(), 3U);
  EXPECT_THAT(json["targets"].dump(),
              ::testing::Not(HasSubstr("incomplete installation")));  // it is: we run beside it
  EXPECT_GE(json["fences"].size(), 5U);
}

TEST(Doctor, SurvivesABrokenConfigurationAndNamesIt) {
  const Shell shell;
  shell.write("cuco.toml", "sed = 3\n");
  const Seen seen = shell("cuco doctor");
  EXPECT_EQ(seen.exit_code, 0);
  EXPECT_THAT(seen.out, HasSubstr("cuco.toml:1"));
}

TEST(Completion, BashOffersCommandsOptionsAndValues) {
  const Shell shell;
  shell.write("try.sh", R"(source <(cuco completion bash)
try() { COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _cuco; echo "${COMPREPLY[*]}"; }
try cuco opt
try cuco --quiet conf
try cuco config --expl
try cuco completion z
try cuco run --topology nvlink4
try cuco optimize workloads/silu
try cuco run --hardware h2
)");
  const Seen seen = shell("bash try.sh");
  EXPECT_EQ(seen.out, "optimize\nconfig\n--explain\nzsh\nnvlink4\n\nh200\n") << seen.error;
}

TEST(Completion, ZshScriptNamesEveryCommand) {
  const Seen seen = Shell()("cuco completion zsh");
  for (const cli::CommandEntry& entry : cli::all_commands()) {
    EXPECT_THAT(seen.out, HasSubstr(fmt::format("'{}:", entry.name)));
  }
}

TEST(Completion, FishScriptNamesEveryCommandAndItsOptions) {
  const Shell shell;
  const std::string script = shell("cuco completion fish").out;
  for (const cli::CommandEntry& entry : cli::all_commands())
    EXPECT_THAT(script, HasSubstr(fmt::format("-n '__cuco_is' -a {} -d '", entry.name)));
  EXPECT_THAT(script,
              HasSubstr("-n '__cuco_is run' -l topology -r -F -a '(__cuco_values topology)'"));
  EXPECT_THAT(script, HasSubstr("-n '__cuco_is run' -l check -d '"));
  EXPECT_THAT(script, HasSubstr("-n '__cuco_is completion' -a 'bash zsh fish values'"));
  // Where there is a fish, it is asked.
  shell.write("try.fish", R"(cuco completion fish | source
complete -C "cuco opti" | string match -r "^optimize"
complete -C "cuco run --chec" | string match -r "^--check"
complete -C "cuco run --topology nvlink4" | string match -r "^nvlink4"
)");
  const Seen seen = shell("command -v fish >/dev/null || exit 77; fish --no-config try.fish");
  if (seen.exit_code == 77) GTEST_SKIP() << "no fish";
  EXPECT_EQ(seen.out, "optimize\n--check\nnvlink4\n") << seen.error;
}

}  // namespace
}  // namespace cuco::test
