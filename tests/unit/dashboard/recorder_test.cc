// SPDX-License-Identifier: Apache-2.0
#include "dashboard/recorder.h"

#include <chrono>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "dashboard/answers.h"
#include "system/os/files.h"
#include "system/os/system_clock.h"

namespace cuco::dashboard {
namespace {

/// A shell in the place of `cuco report`: it gets the run as $0, --record as $1, the number as $2.
std::vector<std::string> script(std::string text) {
  return {"/bin/sh", "-c", std::move(text)};
}

Json ended(const Recorder& recorder) {
  for (int i = 0; i < 400 && recorder.state()["state"] == "running"; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(25));
  return recorder.state();
}

class Recording : public testing::Test {
 protected:
  system::SystemClock clock;
  system::TempFolder folder = *system::TempFolder::create();
  std::string path = folder.path().string();
};

TEST_F(Recording, NamesRunAndCandidate) {
  Recorder recorder(script("echo $0 $1 $2 > " + path + "/words"), clock);
  EXPECT_TRUE(recorder.state().is_null());
  ASSERT_TRUE(recorder.start("0003", 7));
  const Json state = ended(recorder);
  EXPECT_EQ(state["state"], "done");
  EXPECT_EQ(state["run"], "0003");
  EXPECT_EQ(state["candidate"], 7);
  EXPECT_EQ(*system::read_file(folder.path() / "words"), "0003 --record 7\n");
}

TEST_F(Recording, IsOneAtATime) {
  Recorder recorder(script("while [ ! -e " + path + "/go ]; do sleep 0.05; done"), clock);
  ASSERT_TRUE(recorder.start("0003", 7));
  EXPECT_EQ(recorder.state()["state"], "running");
  EXPECT_TRUE(recorder.start("0003", 7)) << "who asks twice gets one";
  const auto other = recorder.start("0003", 8);
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().message(), "#7 of run 0003 is being recorded; try again when it is done");
  ASSERT_TRUE(system::write_file(folder.path() / "go", ""));
  EXPECT_EQ(ended(recorder)["state"], "done");
  EXPECT_TRUE(recorder.start("0004", 8));
  EXPECT_EQ(ended(recorder)["candidate"], 8);
}

TEST_F(Recording, SaysWhatWasInTheWay) {
  Recorder recorder(
      script("echo working >&2; echo 'cuco: program.cu has changed since the run' >&2; exit 2"),
      clock);
  ASSERT_TRUE(recorder.start("0003", 7));
  EXPECT_EQ(ended(recorder)["state"], "failed");
  EXPECT_EQ(recorder.state()["problem"], "program.cu has changed since the run");
  Recorder missing({"/no/such/program"}, clock);
  ASSERT_TRUE(missing.start("0003", 7));
  EXPECT_EQ(ended(missing)["state"], "failed");
  EXPECT_NE(missing.state()["problem"], "");
}

TEST_F(Recording, EndsWithTheServer) {
  const auto begin = clock.now();
  {
    Recorder recorder(script("sleep 60"), clock);
    ASSERT_TRUE(recorder.start("0003", 7));
  }
  EXPECT_LT(clock.now() - begin, std::chrono::seconds(20));
}

TEST_F(Recording, IsPostedToOnePlaceOnly) {
  EXPECT_TRUE(takes_post("/api/runs/0003/candidates/7/timeline"));
  for (const char* other :
       {"/api/runs/0003/candidates/7", "/api/runs/0003/timeline", "/api/runs", "/api/recording",
        "/api/runs/0003/candidates/-7/timeline", "/api/runs/0003/candidates/x/timeline",
        "/api/runs/0003/candidates/7/timeline/x", "/api/runs/a/b/candidates/7/timeline", "/"})
    EXPECT_FALSE(takes_post(other)) << other;
  const Site site{.root = folder.path()};
  Recorder recorder(script("true"), clock);
  EXPECT_EQ(answer_post(site, "/api/runs/0003/candidates/7/timeline", recorder).status, 404);
  EXPECT_EQ(answer_post(site, "/api/runs/..%2f/candidates/7/timeline", recorder).status, 404);
  EXPECT_TRUE(recorder.state().is_null());
}

}  // namespace
}  // namespace cuco::dashboard
