// SPDX-License-Identifier: Apache-2.0
// The whole journey with the real analysis and expert and an evaluator that only reads directives:
// no nvcc, no virtual cluster.
#include "cli/journey/journey.h"

#include <atomic>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "base/text.h"
#include "cli/journey/proposers.h"
#include "cli/journey/run_lookup.h"
#include "system/os/files.h"
#include "system/os/system_clock.h"

namespace cuco::cli {
namespace {
using testing::HasSubstr;

const system::Path kRoot = CUCO_SOURCE_DIR;

/// Faster the deeper the communication is fused; what says "wrong" is wrong.
class DirectiveEvaluator final : public candidate::Evaluator {
 public:
  [[nodiscard]] candidate::Target target() const override {
    return {.name = "imagined cluster",
            .hardware = "4 x H200",
            .topology = "nvlink4",
            .facts = {.ranks = 4, .lsa_ranks = 4}};
  }
  [[nodiscard]] candidate::Provenance provenance() const override { return made_with; }
  Result<candidate::Outcome> evaluate(const candidate::Candidate& candidate,
                                      candidate::Rung) override {
    ++evaluations;
    candidate::Scored scored{.seconds = 1e-3, .baseline_seconds = 1e-3, .hardware = "4 x H200"};
    const auto& directive = candidate.directive;
    const auto& text = candidate.source.files().front().text;
    if (text.find("wrong") != std::string::npos) {
      return candidate::Outcome(candidate::WrongResult{.output = "C", .rank = 1, .index = 3});
    }
    if (carried > 0) scored.shapes.push_back({.shape = "small", .wire_bytes = carried});
    scored.seconds *= 1.0 - 0.1 * static_cast<int>(directive.placement);
    if (directive.chunk.kind == design::ChunkKind::Bytes) {
      scored.seconds *= 1.0 - 1e-9 * static_cast<double>(directive.chunk.bytes);
    }
    return candidate::Outcome(scored);
  }
  std::atomic<int> evaluations{0};
  double carried = 0;  ///< By the links, in a run of whatever is judged.
  candidate::Provenance made_with{.nvcc = "13.0.88"};
};

/// Answers each new question of a mailbox with another design; how many there were.
int answer_questions(const system::Path& box) {
  int count = 0;
  std::error_code ignored;
  for (const auto& file : std::filesystem::directory_iterator(box, ignored)) {
    auto answer = file.path().string();
    // Hidden files are questions that are being written.
    const auto end = answer.find(".question.md");
    if (end == std::string::npos || file.path().filename().string().starts_with('.')) continue;
    answer.replace(end, std::string::npos, ".answer.md");
    if (std::filesystem::exists(answer)) continue;
    EXPECT_TRUE(system::write_file(
        answer,
        "DIRECTIVE: LSA · producer-fused · per-peer signal · thread · per tile\n"
        "BECAUSE: asked and answered\nREGION kernels\n```\nint x" +
            std::to_string(answer.size() + std::hash<std::string>()(answer)) + ";\n```\n"));
    ++count;
  }
  return count;
}

class Journeys : public testing::Test {
 protected:
  void SetUp() override {
    auto made = system::TempFolder::create("cuco_journey");
    ASSERT_TRUE(made);
    temp.emplace(*std::move(made));
    subject = {"gemm_allgather", "C = A·B, then all-gather of C",
               *system::read_file(kRoot / "workloads/gemm_allgather/program.cu")};
    options.workload = "workloads/gemm_allgather";
    options.proposers = {"expert"};
    options.jobs = 2;
  }

  Result<ExitCode> go(const store::RunFolder& folder, bool json = false) {
    const auto out_path = temp->path() / "out";
    std::FILE* out = std::fopen(out_path.c_str(), "w");
    std::FILE* err = std::fopen((temp->path() / "err").c_str(), "w");
    Terminal terminal(out, err, {});
    const auto config = Config::from({});
    Context context{.terminal = terminal, .config = *config, .json = json};
    auto code = travel(context, options, folder, subject, evaluator);
    std::fclose(out);
    std::fclose(err);
    output = *system::read_file(out_path);
    notes = *system::read_file(temp->path() / "err");
    return code;
  }

  std::optional<system::TempFolder> temp;
  Subject subject;
  JourneyOptions options;
  DirectiveEvaluator evaluator;
  std::string output;
  std::string notes;
};

TEST_F(Journeys, GoFromTheSeedToAFolder) {
  const auto folder = store::create_run(temp->path() / "runs");
  ASSERT_TRUE(folder);
  const auto code = go(*folder);
  ASSERT_TRUE(code) << code.error().message();
  EXPECT_EQ(*code, ExitCode::Done) << notes;
  EXPECT_THAT(notes, HasSubstr("replace ✓"));
  // Nothing runs here, so that designs which need to see a run are not among them.
  EXPECT_THAT(output, HasSubstr("host · stream-split"));
  EXPECT_THAT(output, HasSubstr("predicted against"));
  EXPECT_TRUE(std::filesystem::exists(folder->best() / "Makefile"));
  // A second look at the finished run evaluates nothing.
  const int before = evaluator.evaluations;
  ASSERT_TRUE(go(*folder));
  EXPECT_EQ(evaluator.evaluations, before);
}

TEST_F(Journeys, ShowNoTickForAnAnalysisThatMissedTheCollective) {
  const std::string table = subject.program + R"(
    using Gather = ncclResult_t (*)(const void*, void*, size_t, ncclDataType_t, ncclComm_t,
                                    cudaStream_t);
    static const Gather kGathers[] = {ncclAllGather, nullptr};
    extern "C" const void* cuco_table() { return kGathers; })";
  subject.program = table;
  options.candidates = 2;
  ASSERT_TRUE(go(*store::create_run(temp->path() / "runs")));
  EXPECT_THAT(notes, HasSubstr("analyse ✗  missed ncclAllGather (line "));
  EXPECT_THAT(notes, testing::Not(HasSubstr("no collective")));
}

TEST_F(Journeys, BelieveTheSeedsRunsThatItCommunicates) {
  subject.program = "__global__ void k(int* p) { *p = 1; }\nint main() { k<<<1, 1>>>(nullptr); }\n";
  options.candidates = 2;
  evaluator.carried = 1 << 20;
  ASSERT_TRUE(go(*store::create_run(temp->path() / "runs")));
  EXPECT_THAT(notes, HasSubstr("analyse ✗  missed what the seed sends: its GPUs exchanged 1 MiB"));
  evaluator.carried = 0;
  ASSERT_TRUE(go(*store::create_run(temp->path() / "runs")));
  EXPECT_THAT(notes, HasSubstr("analyse ✓  1 kernel, 1 launch, no collective"));
}

TEST_F(Journeys, EndWithOneResultObjectInJson) {
  options.candidates = 14;
  const auto folder = store::create_run(temp->path() / "runs");
  ASSERT_TRUE(go(*folder, true));
  std::string last;
  for (const auto line : split(output, '\n')) {
    if (line.empty()) continue;
    ASSERT_TRUE(parse_json(line)) << line;
    last = std::string(line);
  }
  const auto result = parse_json(last)->at("result");
  EXPECT_GT(result.at("speedup").get<double>(), 1.0);
  EXPECT_EQ(result.at("predicted"), true);
  EXPECT_EQ(result.at("verdict"), "scored");
}

TEST_F(Journeys, AdoptAScriptsDesignAndExplainItsMistakes) {
  // Answers: a good design, garbage, an edit of a frozen line, a wrong kernel.
  const auto script = temp->path() / "script";
  const auto count = (temp->path() / "count").string();
  const auto seed = (kRoot / "workloads/gemm_allgather/program.cu").string();
  ASSERT_TRUE(system::write_file(
      script,
      "#!/bin/sh\ncat > /dev/null\necho x >> " + count + "\n" +
          "D='DIRECTIVE: LSA · producer-fused · per-peer signal · thread · per tile'\n"
          "case $(wc -l < " +
          count +
          ") in\n"
          "1) echo \"$D\"; echo 'BECAUSE: by hand'; echo 'REGION kernels'; echo '```cuda';\n"
          "   echo '// a new design'; echo 'int good;'; echo '```';;\n"
          "2) echo 'I cannot help with that.';;\n"
          "3) echo \"$D\"; echo '```cuda'; sed 's/extern \"C\" int cuco_run/int cuco_run/' " +
          seed +
          "; echo '```';;\n"
          "*) echo \"$D\"; echo 'REGION kernels'; echo '```'; echo 'int wrong;'; echo '```';;\n"
          "esac\n",
      0755));
  options.proposers = {"command:" + script.string()};
  options.record = (temp->path() / "recording.jsonl").string();
  options.candidates = 5;
  const auto folder = store::create_run(temp->path() / "runs");
  const auto code = go(*folder);
  ASSERT_TRUE(code) << code.error().message();
  EXPECT_EQ(*code, ExitCode::Done) << notes;
  const auto run = load_run(*folder);
  ASSERT_TRUE(run);
  ASSERT_EQ(run->state.entries.size(), 5U);
  EXPECT_EQ(run->state.best, 1);
  EXPECT_EQ(candidate::summary(*run->state.entries[2].latest()),
            "no candidate: the answer states no directive (DIRECTIVE: …)");
  EXPECT_THAT(candidate::summary(*run->state.entries[3].latest()), HasSubstr("frozen line"));
  EXPECT_EQ(candidate::verdict(*run->state.entries[4].latest()), "wrong-result");

  // The recording replays offline, to the same winner.
  ASSERT_TRUE(system::remove_all(script));
  options.replay = options.record;
  options.record.clear();
  const auto again = store::create_run(temp->path() / "runs");
  ASSERT_TRUE(go(*again)) << notes;
  const auto replayed = load_run(*again);
  ASSERT_TRUE(replayed);
  ASSERT_EQ(replayed->state.entries.size(), 5U);
  for (std::size_t i = 0; i < 5; ++i) {
    EXPECT_EQ(replayed->state.entries[i].candidate, run->state.entries[i].candidate) << i;
    EXPECT_EQ(*replayed->state.entries[i].latest(), *run->state.entries[i].latest()) << i;
    EXPECT_EQ(replayed->state.entries[i].exchanges, run->state.entries[i].exchanges) << i;
  }
}

TEST_F(Journeys, WaitForAPersonAtAMailbox) {
  const auto box = temp->path() / "box";
  options.proposers = {"mailbox:" + box.string()};
  options.models.deadline_seconds = 60;
  options.candidates = 3;
  std::atomic<bool> over = false;
  int answered = 0;
  std::thread person([&] {
    for (; !over; std::this_thread::sleep_for(std::chrono::milliseconds(50)))
      answered += answer_questions(box);
  });
  const auto folder = store::create_run(temp->path() / "runs");
  const auto code = go(*folder);
  over = true;
  person.join();
  ASSERT_TRUE(code) << code.error().message();
  EXPECT_EQ(answered, 2);
  const auto run = load_run(*folder);
  ASSERT_TRUE(run);
  ASSERT_EQ(run->state.entries.size(), 3U);
  EXPECT_EQ(run->state.entries[1].candidate.lineage.proposer, "mailbox:mailbox");
  EXPECT_EQ(run->state.entries[1].candidate.lineage.because, "asked and answered");
}

TEST_F(Journeys, SayWhichKeyIsMissing) {
  options.proposers = {"model"};
  options.models.model = "gpt-x";
  options.models.key_variable = "CUCO_TEST_NO_SUCH_KEY";
  const auto code = go(*store::create_run(temp->path() / "runs"));
  ASSERT_FALSE(code);
  EXPECT_EQ(code.error().kind(), ErrorKind::Unavailable);
  EXPECT_THAT(code.error().message(), HasSubstr("set CUCO_TEST_NO_SUCH_KEY, or name a file"));
}

TEST(JourneyOptions, NameProposersThatNeedNoModel) {
  system::SystemClock clock;
  EXPECT_TRUE(check_proposers({.proposers = {"expert", "tuner"}}, clock));
  EXPECT_FALSE(check_proposers({.proposers = {"expert", "turner"}}, clock));
}

TEST(JourneyOptions, SurviveTheStore) {
  JourneyOptions options{.workload = "w", .seed = 9, .proposers = {"expert", "command:x"}};
  const auto parsed = parse_journey_options(to_json(options));
  ASSERT_TRUE(parsed);
  EXPECT_EQ(to_json(*parsed), to_json(options));
  EXPECT_FALSE(parse_journey_options("{\"seed\":\"x\"}"));
}

}  // namespace
}  // namespace cuco::cli
