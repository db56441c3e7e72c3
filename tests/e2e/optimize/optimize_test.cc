// SPDX-License-Identifier: Apache-2.0
// cuco optimize with the real nvcc and judge: the same winner every time, also after kill -9; a
// scripted proposer's good answer is adopted and its bad ones are explained; its recording replays.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "base/text.h"
#include "cli/journey/run_lookup.h"
#include "support/require.h"
#include "system/os/files.h"

namespace cuco::cli {
namespace {
using testing::HasSubstr;

const std::string kRoot = CUCO_SOURCE_DIR;
const std::string kCuco = std::string(CUCO_BINARY_DIR) + "/bin/cuco";

class Optimizing : public testing::Test {
 protected:
  void SetUp() override {
    CUCO_NEEDS_NVCC();
    auto made = system::TempFolder::create("cuco_optimize");
    ASSERT_TRUE(made);
    temp.emplace(*std::move(made));
  }

  [[nodiscard]] std::vector<std::string> words(const std::vector<std::string>& more) const {
    std::vector<std::string> list = {kCuco, "--json", "--set",
                                     "store.folder=" + (temp->path() / "runs").string()};
    list.insert(list.end(), more.begin(), more.end());
    return list;
  }

  /// Starts cuco in the source folder with standard output in `out`.
  pid_t start(const std::vector<std::string>& more, const system::Path& out) const {
    auto list = words(more);
    std::vector<char*> argv;
    for (auto& word : list)
      argv.push_back(word.data());
    argv.push_back(nullptr);
    const pid_t child = ::fork();
    if (child == 0) {
      if (::chdir(kRoot.c_str()) != 0 || std::freopen(out.c_str(), "w", stdout) == nullptr) {
        ::_exit(126);
      }
      ::execv(argv[0], argv.data());
      ::_exit(127);
    }
    return child;
  }

  /// Runs to the end; the result object.
  Json finish(const std::vector<std::string>& more) const {
    const auto out = temp->path() / "out";
    const pid_t child = start(more, out);
    int status = 0;
    ::waitpid(child, &status, 0);
    const auto text = *system::read_file(out);
    std::string last;
    for (const auto line : split(text, '\n')) {
      if (!line.empty()) last = std::string(line);
    }
    const auto json = parse_json(last);
    if (!json || !json->contains("result")) {
      ADD_FAILURE() << "no result: " << last << " status " << status;
      return Json::object();
    }
    return json->at("result");
  }

  /// Runs it with one job and with four, and expects the same of both; the result of the first.
  Json one_winner_whatever_the_jobs(const std::vector<std::string>& order) const {
    const auto with_jobs = [&](const char* jobs) {
      auto more = order;
      more.insert(more.end(), {"--jobs", jobs});
      return finish(more);
    };
    auto alone = with_jobs("1");
    EXPECT_EQ(alone.value("verdict", ""), "scored") << to_text(alone);
    const auto together = with_jobs("4");
    for (const auto* key : {"candidate", "code_hash", "directive", "seconds", "verdict"}) {
      EXPECT_EQ(together.value(key, Json()), alone.value(key, Json())) << key;
    }
    return alone;
  }

  std::optional<system::TempFolder> temp;
};

TEST_F(Optimizing, ASmallRunHasOneWinnerWhateverTheNumberOfJobs) {
  const auto winner =
      one_winner_whatever_the_jobs({"optimize", "workloads/silu_and_mul", "--candidates", "4"});
  EXPECT_GT(winner.value("speedup", 0.0), 1.0);
}

/// Every workload with all defaults, as a user runs it.
class OptimizingAll : public Optimizing, public testing::WithParamInterface<const char*> {};

TEST_P(OptimizingAll, HasOneWinnerWhateverTheNumberOfJobs) {
  const auto winner =
      one_winner_whatever_the_jobs({"optimize", std::string("workloads/") + GetParam()});
  std::printf("%s: #%d, %.3fx\n", GetParam(), winner.value("candidate", 0),
              winner.value("speedup", 0.0));
}

INSTANTIATE_TEST_SUITE_P(Workloads,
                         OptimizingAll,
                         testing::Values("silu_and_mul",
                                         "fused_add_rmsnorm",
                                         "merge_attn_states",
                                         "kv_transfer",
                                         "flash_attention_cp",
                                         "gemm_allgather",
                                         "moe_dispatch_combine"),
                         [](const auto& workload) { return std::string(workload.param); });

TEST_F(Optimizing, ASmallRunOfAProgramWithMainEndsWithADiffAgainstIt) {
  const auto result = finish({"optimize", "tests/programs/captured_graph.cu", "--candidates", "3"});
  ASSERT_EQ(result.value("verdict", ""), "scored") << to_text(result);
  EXPECT_EQ(result.value("candidate", 0), 2);
  EXPECT_GT(result.value("speedup", 0.0), 1.0);
  const auto folder = temp->path() / "best";
  int status = 0;
  ::waitpid(start({"best", "last", "-o", folder.string()}, temp->path() / "out"), &status, 0);
  EXPECT_EQ(status, 0);
  const auto diff = system::read_file(folder / "changes.diff");
  ASSERT_TRUE(diff) << diff.error().message();
  EXPECT_THAT(*diff, HasSubstr("captured_graph.cu"));
  EXPECT_THAT(*diff, HasSubstr("+// cuco: evolve begin collectives"));
  EXPECT_TRUE(system::read_file(folder / "captured_graph.cu"));
}

TEST_F(Optimizing, ASmallRunOfWhatCannotBeLeavesNothingBehind) {
  const auto out = temp->path() / "out";
  for (const char* program : {"README.md", "tests/programs/no_communication.cu", "nothing.cu"}) {
    int status = 0;
    ::waitpid(start({"optimize", program}, out), &status, 0);
    EXPECT_EQ(WEXITSTATUS(status), 2) << program;
  }
  EXPECT_FALSE(std::filesystem::exists(temp->path() / "runs"));
}

TEST_F(Optimizing, FindsTheSameWinnerAlsoAfterKillNine) {
  const std::vector<std::string> order = {"optimize", "workloads/gemm_allgather", "--candidates",
                                          "6"};
  const auto whole = finish(order);
  ASSERT_EQ(whole.value("verdict", ""), "scored") << to_text(whole);
  EXPECT_GT(whole.value("speedup", 0.0), 1.0);
  EXPECT_EQ(whole.value("predicted", false), true);

  // Killed when a few verdicts are in; resumed to the same end.
  const auto out = temp->path() / "killed";
  const pid_t child = start(order, out);
  for (int i = 0; i < 1200; ++i) {
    ::usleep(100'000);
    const auto text = system::read_file(out);
    std::size_t verdicts = 0;
    if (text) {
      for (auto at = text->find("\"evaluated\""); at != std::string::npos;
           at = text->find("\"evaluated\"", at + 1)) {
        ++verdicts;
      }
    }
    if (verdicts >= 3) break;
  }
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  const auto resumed = finish({"resume", "last"});
  for (const auto* key : {"candidate", "code_hash", "directive", "seconds", "verdict"}) {
    EXPECT_EQ(resumed.value(key, Json()), whole.value(key, Json())) << key;
  }
}

TEST_F(Optimizing, AdoptsAScriptsDesignExplainsTheRestAndReplays) {
  const auto solution = kRoot + "/tests/solutions/gemm_allgather/fused_lsa.cu";
  const auto counter = (temp->path() / "counter").string();
  const auto recording = (temp->path() / "recording.jsonl").string();
  const auto proposer =
      "command:" + kRoot + "/tests/e2e/optimize/proposer.sh " + solution + " " + counter;
  const auto result = finish({"optimize", "workloads/gemm_allgather", "--proposer", proposer,
                              "--candidates", "5", "--record", recording});
  EXPECT_EQ(result.value("candidate", -1), 1) << to_text(result);
  EXPECT_GT(result.value("speedup", 0.0), 1.0);
  auto folder = store::find_run(temp->path() / "runs", "last");
  ASSERT_TRUE(folder);
  const auto run = load_run(*std::move(folder));
  ASSERT_TRUE(run);
  ASSERT_EQ(run->state.entries.size(), 5U);
  const auto why = [&](std::size_t i) {
    return candidate::summary(*run->state.entries[i].latest());
  };
  EXPECT_THAT(why(2), HasSubstr("states no directive"));
  EXPECT_THAT(why(3), HasSubstr("frozen line"));
  EXPECT_THAT(why(4), HasSubstr("wrong result: C["));

  // On another machine: nothing is cached there, and its secret is another one.
  ::setenv("XDG_CACHE_HOME", (temp->path() / "cache").c_str(), 1);
  const auto replayed = finish({"optimize", "workloads/gemm_allgather", "--proposer", proposer,
                                "--candidates", "5", "--replay", recording});
  ::unsetenv("XDG_CACHE_HOME");
  for (const auto* key : {"candidate", "code_hash", "directive", "seconds", "verdict"}) {
    EXPECT_EQ(replayed.value(key, Json()), result.value(key, Json())) << key;
  }
  // Four answers and the end of the last line: the script was not asked again.
  const std::string asked = *system::read_file(counter);
  EXPECT_EQ(split(asked, '\n').size(), 5U);
}

}  // namespace
}  // namespace cuco::cli
