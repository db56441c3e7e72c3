// SPDX-License-Identifier: Apache-2.0
//
// The judge accepts honest programs and rejects every hostile one, each for the right reason. The
// table at the end is the summary.
#include "judge/judge.h"

#include <algorithm>
#include <filesystem>
#include <span>
#include <stdexcept>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"
#include "program/regions.h"
#include "ptx/container/executable.h"
#include "support/require.h"
#include "support/tenth.h"
#include "system/jobs/process.h"
#include "toolchain/device_ptx.h"

namespace cuco::judge {
namespace {

const system::Path kRoot = CUCO_SOURCE_DIR;

const system::Path kAttacks = kRoot / "tests/hostile/judge";

struct Attack {
  std::string name;
  std::string tries;
  std::string verdict;
  std::string because;  ///< Part of the explanation: the reason it must be rejected for.
  candidate::Fidelity fidelity = candidate::Fidelity::Quick;
  bool full = false;  ///< On full shapes, too.
  std::string text;
};

void PrintTo(const Attack& attack, std::ostream* out) {  // NOLINT: GoogleTest's name
  *out << attack.name;
}

std::string replaced(std::string text, std::string_view from, std::string_view to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

/// Mutants' honest bases have some of it in common with attacks.
Result<std::string> common_text(const std::string& name) {
  auto text = system::read_file(kAttacks / "common" / name);
  return text ? text : system::read_file(kRoot / "tests/hostile/generate/honest/common" / name);
}

/// What many attacks have in common is written once: "// common: NAME" stands for common/NAME.inc.
std::string expanded(std::string text) {
  constexpr std::string_view kMark = "// common: ";
  for (std::size_t at = text.find(kMark); at != std::string::npos; at = text.find(kMark)) {
    const std::size_t end = text.find('\n', at);
    const std::string name = text.substr(at + kMark.size(), end - at - kMark.size());
    text.replace(at, end + 1 - at, *common_text(name + ".inc"));
  }
  return text;
}

std::string header_line(const std::string& text, std::string_view key) {
  const std::string marker = fmt::format("// {}: ", key);
  const std::size_t at = text.find(marker);
  if (at == std::string::npos) return "";
  return text.substr(at + marker.size(), text.find('\n', at) - at - marker.size());
}

/// The names of all, or of the tenth that CUCO_TENTH names.
std::vector<std::string> names_of_attacks() {
  std::vector<std::string> names;
  const auto files = system::walk(kAttacks);
  for (const system::Path& file : files ? *files : std::vector<system::Path>()) {
    if (file.extension() == ".cu") names.push_back(file.stem().string());
  }
  return tests::chosen_tenth(std::move(names));
}

std::vector<Attack> chosen_attacks() {
  std::vector<Attack> attacks;
  for (const std::string& name : names_of_attacks()) {
    const std::string text = *system::read_file(kAttacks / (name + ".cu"));
    const std::string level = header_line(text, "fidelity");
    attacks.push_back({name, header_line(text, "tries"), header_line(text, "verdict"),
                       header_line(text, "because"),
                       level == "final"      ? candidate::Fidelity::Final
                       : level == "standard" ? candidate::Fidelity::Standard
                                             : candidate::Fidelity::Quick,
                       header_line(text, "shapes") == "full", expanded(text)});
  }
  return attacks;
}

/// The seed with the attack's regions in the place of its own.
std::string applied(const std::string& seed, const std::string& attack) {
  std::vector<program::Replacement> replacements;
  const auto regions = program::find_regions(attack);
  EXPECT_TRUE(regions) << regions.error().message();
  for (const program::Region& region : *regions) {
    replacements.push_back({region.name, attack.substr(region.begin, region.end - region.begin)});
  }
  const auto text = program::replace_regions(seed, replacements);
  EXPECT_TRUE(text) << text.error().message();
  return *text;
}

std::vector<std::string>& table() {
  static std::vector<std::string> rows;
  return rows;
}

bool has_every_fence() {
  static const auto fences = system::probe_fences();
  return fences && std::ranges::all_of(*fences, &system::FenceReport::works);
}

/// As candidates of a model are run, where this machine has every fence.
system::Tier tier() {
  return has_every_fence() ? system::Tier::Hostile : system::Tier::Own;
}

/// A judge of gemm_allgather with so much patience, of small shapes alone unless `full`.
std::unique_ptr<Judge> make_judge(const system::Path& folder, int seconds, bool full = false) {
  const system::Path source = kRoot / "workloads/gemm_allgather";
  for (const char* name : {"program.cu", "oracle.cpp", "workload.toml"}) {
    std::string text = *system::read_file(source / name);
    if (std::string_view(name) == "workload.toml") {
      text = replaced(text, "run_seconds = 60", fmt::format("run_seconds = {}", seconds));
      text = replaced(text, "setup_seconds = 60", fmt::format("setup_seconds = {}", seconds));
    }
    EXPECT_TRUE(system::write_file(folder / name, text));
  }
  auto made = Judge::create({.workload = folder,
                             .cache = system::Path(CUCO_BINARY_DIR) / "judge-cache",
                             .tier = tier(),
                             .small = !full,
                             .server_memory = std::uint64_t{1} << 30U});
  if (!made) throw std::runtime_error(made.error().message());
  return *std::move(made);
}

/// One for all who hang, one for those who are hostile on full shapes, one for all others.
Judge& the_judge(const std::string& expected = "", bool full = false) {
  static const system::TempFolder folder = *system::TempFolder::create();
  const auto kept = [&](const char* name, int seconds, bool on_full) {
    EXPECT_TRUE(system::make_folder(folder.path() / name));
    return make_judge(folder.path() / name, seconds, on_full);
  };
  if (full) {
    static const std::unique_ptr<Judge> thorough = kept("thorough", 120, true);
    return *thorough;
  }
  static const std::unique_ptr<Judge> patient = kept("patient", 120, false);
  static const std::unique_ptr<Judge> hasty = kept("hasty", 10, false);
  return expected == "timed-out" ? *hasty : *patient;
}

void note(const std::string& name, const std::string& tries, const candidate::Outcome& outcome) {
  table().push_back(fmt::format("  {:<20} {:<16} {}\n  {:<37} -> {}", name,
                                candidate::verdict(outcome), tries, "",
                                candidate::summary(outcome).substr(0, 120)));
}

candidate::Outcome judged(const std::string& name,
                          const std::string& tries,
                          const std::string& program,
                          candidate::Fidelity fidelity = candidate::Fidelity::Quick,
                          const std::string& expected = "",
                          bool full = false) {
  const auto outcome = the_judge(expected, full).judge(program, fidelity);
  if (!outcome) {
    ADD_FAILURE() << outcome.error().message();
    return candidate::BuildFailed{outcome.error().message()};
  }
  note(name, tries, *outcome);
  return *outcome;
}

/// Without them the attacks below are judged all the same, but not as those of a model would be.
TEST(JudgeFences, AreAllThere) {
  CUCO_NEEDS("fences", has_every_fence(), "attacks were judged without the sandbox");
}

class HostileCandidate : public testing::TestWithParam<Attack> {};

TEST_P(HostileCandidate, GetsItsVerdict) {
  const Attack& attack = GetParam();
  const auto outcome =
      judged(attack.name, attack.tries, applied(the_judge().workload().program, attack.text),
             attack.fidelity, attack.verdict, attack.full);
  EXPECT_EQ(candidate::verdict(outcome), attack.verdict) << candidate::explanation(outcome);
  const auto* scored = std::get_if<candidate::Scored>(&outcome);
  if (scored == nullptr) {
    EXPECT_FALSE(attack.because.empty()) << "say '// because: ' with part of this explanation:\n"
                                         << candidate::explanation(outcome);
  }
  const std::string said = scored == nullptr ? candidate::explanation(outcome)
                                             : fmt::format("{}", fmt::join(scored->warnings, "\n"));
  EXPECT_THAT(said, testing::HasSubstr(attack.because));
  // What is accepted although it tries something must gain nothing by it.
  if (scored != nullptr && !attack.tries.starts_with("honest:")) {
    EXPECT_LE(scored->score, 0.5 + 1e-6);
  }
}

INSTANTIATE_TEST_SUITE_P(Judge,
                         HostileCandidate,
                         testing::ValuesIn(chosen_attacks()),
                         [](const auto& attack) { return attack.param.name; });

/// The PTX of an object, without what only tells where it came from.
std::vector<std::string> device_code(const system::Path& object) {
  const std::string bytes = *system::read_file(object);
  std::vector<std::string> lines;
  for (const std::string& text : ptx::ptx_texts(std::as_bytes(std::span(bytes)), 90)) {
    // Sections are for debuggers, and come last. Objects that share their host code share the
    // number in their names.
    const std::string code =
        toolchain::without_module_number(text.substr(0, text.find(".section")));
    for (const std::string_view line : split(code, '\n')) {
      const bool tells_where = line.find(".file") != std::string_view::npos ||
                               line.find(".loc") != std::string_view::npos ||
                               line.starts_with("//");
      if (!line.empty() && !tells_where) lines.emplace_back(line);
    }
  }
  return lines;
}

/// Lower fidelities compile only device code where that is enough; `final` compiles all of it.
class BuiltBothWays : public HostileCandidate {
 protected:
  static toolchain::BuildResult build(const std::string& program, bool device_only) {
    static const system::TempFolder cache = *system::TempFolder::create();
    return *toolchain::build_candidate(
        program,
        {.cache = cache.path(), .tier = tier(), .architecture = "90", .device_only = device_only});
  }
};

TEST_P(BuiltBothWays, IsOneProgram) {
  const std::string seed = the_judge().workload().program;
  ASSERT_EQ(build(seed, false).index(), 0U);
  const std::string program = applied(seed, GetParam().text);
  const auto alone = build(program, true);  // first: a whole object would be taken for both
  const auto whole = build(program, false);
  ASSERT_EQ(alone.index(), whole.index());
  if (whole.index() != 0) return;
  const auto code = device_code(std::get<system::Path>(whole));
  EXPECT_FALSE(code.empty());
  const auto code_alone = device_code(std::get<system::Path>(alone));
  ASSERT_EQ(code_alone.size(), code.size());
  for (std::size_t i = 0; i < code.size(); ++i)
    ASSERT_EQ(code_alone[i], code[i]) << "line " << i;
}

INSTANTIATE_TEST_SUITE_P(All,
                         BuiltBothWays,
                         testing::ValuesIn(chosen_attacks()),
                         [](const auto& attack) { return attack.param.name; });

TEST(JudgeAccepts, TheSeed) {
  const auto outcome = judged("seed", "honest", the_judge().workload().program);
  const auto* scored = std::get_if<candidate::Scored>(&outcome);
  ASSERT_NE(scored, nullptr) << candidate::explanation(outcome);
  EXPECT_NEAR(scored->score, 0.5, 1e-6);
}

TEST(JudgeAccepts, AHandWrittenSolutionThatIsFaster) {
  const std::string solution =
      *system::read_file(kRoot / "tests/solutions/gemm_allgather/fused_lsa.cu");
  const auto outcome = judged("fused_lsa", "honest, device-initiated", solution);
  const auto* scored = std::get_if<candidate::Scored>(&outcome);
  ASSERT_NE(scored, nullptr) << candidate::explanation(outcome);
  EXPECT_GT(scored->score, 0.5);
}

TEST(JudgeRejects, TheSolutionWithoutItsBarrier) {
  std::string program = *system::read_file(kRoot / "tests/solutions/gemm_allgather/fused_lsa.cu");
  program = replaced(program, "barrier.sync(block, cuda::memory_order_acq_rel);", "");
  const auto outcome = judged("no_barrier", "is done before its peers' tiles are there", program);
  const auto* wrong = std::get_if<candidate::WrongResult>(&outcome);
  ASSERT_NE(wrong, nullptr) << candidate::explanation(outcome);
  EXPECT_EQ(wrong->note, "never written");
}

TEST(JudgeRejects, WaitingByTheClockWhereItIsTimed) {
  // Right where ranks are held back, on check shapes; on timed ones it hopes instead of waiting.
  std::string program = *system::read_file(kRoot / "tests/solutions/gemm_allgather/fused_lsa.cu");
  program = replaced(program, "// Returns when every rank",
                     "__global__ void hope() { for (const long long t = clock64(); clock64() < t + "
                     "9000;) {} }\n\n// Returns when every rank");
  program = replaced(program, "  all_arrived<<<1, 32, 0, stream>>>(state.comm);",
                     "  if (s.m > 128) hope<<<1, 1, 0, stream>>>();\n"
                     "  else all_arrived<<<1, 32, 0, stream>>>(state.comm);");
  const auto outcome = judged("hopes_where_timed", "waits only on shapes that are not timed",
                              program, candidate::Fidelity::Standard);
  const auto* wrong = std::get_if<candidate::WrongResult>(&outcome);
  ASSERT_NE(wrong, nullptr) << candidate::explanation(outcome);
  EXPECT_EQ(wrong->note, "never written");
  EXPECT_THAT(wrong->schedule, testing::HasSubstr("slower"));
}

/// A solution of gemm_allgather with one text in the place of another.
std::string spoiled(const std::string& solution, std::string_view from, std::string_view to) {
  return replaced(*system::read_file(kRoot / "tests/solutions/gemm_allgather" / (solution + ".cu")),
                  from, to);
}

TEST(JudgeRejects, WritingToAPeerThatHasNotEntered) {
  // Found by what it leaves behind where a rank is late, and by the checker in any schedule.
  const std::string early =
      spoiled("fused_lsa", "barrier.wait(block, cuda::memory_order_acquire);", "");
  const auto quick = judged("early_store", "writes before its peer has entered", early);
  EXPECT_EQ(candidate::verdict(quick), "wrong-result") << candidate::explanation(quick);
  EXPECT_THAT(candidate::explanation(quick), testing::HasSubstr("has entered the same call"));
}

TEST(JudgeRejects, AMissingFenceWithoutBeingAskedToCheck) {
  const std::string program =
      spoiled("one_kernel_lsa", "    __threadfence_system();\n    last =", "    last =");
  const auto outcome = judged("missing_fence", "blocks count themselves done without a fence",
                              program, candidate::Fidelity::Final);
  EXPECT_EQ(candidate::verdict(outcome), "findings") << candidate::explanation(outcome);
}

TEST(JudgeRejects, ARawStringOverFrozenLines) {
  const std::string program = replaced(
      the_judge().workload().program, "// cuco: evolve end\n\n// cuco: evolve begin host\n",
      "static const wchar_t kQuote = L'\"'; static const char* const kText = R\"x(\n"
      "// cuco: evolve end\n\n// cuco: evolve begin host\n)x\";\n");
  const auto outcome = judged("swallows", "a raw string swallows frozen lines", program);
  EXPECT_EQ(candidate::verdict(outcome), "screen-rejected") << candidate::explanation(outcome);
  EXPECT_THAT(candidate::explanation(outcome), testing::HasSubstr("reaches over frozen code"));
}

TEST(JudgeRejects, FrozenLinesThatAreBroughtInTwice) {
  const std::string program =
      replaced(the_judge().workload().program, "#include <nccl.h>\n",
               "#include <nccl.h>\n#ifndef AGAIN\n#define AGAIN\n#if 0\n#include \"program.cu\"\n"
               "#endif\n#endif\n");
  const auto outcome = judged("self_include", "honest: an inclusion that does not happen", program);
  EXPECT_EQ(candidate::verdict(outcome), "scored") << candidate::explanation(outcome);
}

TEST(JudgeRejects, ATimeBelowTheBoundIsQuarantined) {
  // The same workload with a bound that nobody can reach stands for a clock that was fooled.
  const system::TempFolder folder = *system::TempFolder::create();
  const system::Path source = kRoot / "workloads/gemm_allgather";
  for (const char* name : {"program.cu", "oracle.cpp", "workload.toml"}) {
    std::string text = *system::read_file(source / name);
    if (std::string_view(name) == "workload.toml") {
      text = replaced(text, "flops = \"2 * m * n * k\"", "flops = \"2000000 * m * n * k\"");
    }
    ASSERT_TRUE(system::write_file(folder.path() / name, text));
  }
  const auto judge = Judge::create({.workload = folder.path(),
                                    .cache = system::Path(CUCO_BINARY_DIR) / "judge-cache",
                                    .tier = tier()});
  ASSERT_TRUE(judge) << judge.error().message();
  const auto outcome = *(*judge)->judge((*judge)->workload().program, candidate::Fidelity::Quick);
  EXPECT_EQ(candidate::verdict(outcome), "quarantined") << candidate::explanation(outcome);
  note("below_the_bound", "is faster than light", outcome);
}

TEST(JudgeRejects, AnEditOfFrozenBytes) {
  const std::string program =
      replaced(the_judge().workload().program, "extern \"C\" int cuco_run(void* state,",
               "extern \"C\" int cuco_run (void* state,");
  const auto outcome = judged("frozen_edit", "changes a frozen line", program);
  const auto* rejected = std::get_if<candidate::ScreenRejected>(&outcome);
  ASSERT_NE(rejected, nullptr) << candidate::explanation(outcome);
  EXPECT_EQ(rejected->rule, "frozen bytes");
}

TEST(JudgeRejects, CodeThatDoesNotCompile) {
  const std::string program =
      replaced(the_judge().workload().program, "cudaError_t multiply", "nonsense multiply");
  const auto outcome = judged("does_not_compile", "nonsense", program);
  const auto* failed = std::get_if<candidate::BuildFailed>(&outcome);
  ASSERT_NE(failed, nullptr) << candidate::explanation(outcome);
  EXPECT_THAT(failed->message, testing::HasSubstr("program.cu"));
  EXPECT_THAT(failed->message, testing::HasSubstr("nonsense"));
}

class PrintTable : public testing::Environment {
 public:
  void TearDown() override {
    fmt::print("\n  {:<20} {:<16} {}\n", "candidate", "verdict", "what it tries");
    for (const std::string& row : table())
      fmt::print("{}\n", row);
    fmt::print("attacks run: {}\n", table().size());
  }
};
// GoogleTest owns it.
const auto* const kPrintTable = testing::AddGlobalTestEnvironment(new PrintTable);

}  // namespace
}  // namespace cuco::judge
