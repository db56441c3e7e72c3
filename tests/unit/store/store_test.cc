// SPDX-License-Identifier: Apache-2.0
// One suite for every CandidateStore, and what only the one on disk promises.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <ctime>
#include <functional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "candidate/run_state.h"
#include "store/memory_store.h"
#include "store/run_folder.h"
#include "store/run_recording.h"
#include "store/sqlite_store.h"
#include "store/stored_run.h"
#include "system/os/files.h"
#include "system/os/streams.h"
#include "system/os/system_clock.h"

namespace cuco::store {
namespace {
using candidate::BestChanged;
using candidate::Evaluated;
using candidate::Event;
using candidate::Fidelity;
using candidate::Proposed;
using candidate::Rung;
using candidate::RunStarted;
using candidate::Scored;
using candidate::TargetKind;

candidate::Candidate some_candidate(int number, std::size_t bytes = 20) {
  candidate::Candidate made;
  made.number = number;
  made.source = program::single_file("program.cu", std::string(bytes, 'x'));
  return made;
}

class Conformance : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    auto folder = system::TempFolder::create("cuco_store");
    ASSERT_TRUE(folder);
    folder_.emplace(*std::move(folder));
    reopen();
  }

  void reopen() {
    if (std::string_view(GetParam()) == "memory") {
      if (!store_) store_ = std::make_unique<MemoryStore>(clock_);
      return;
    }
    store_.reset();
    auto opened = SqliteStore::open(folder_->path() / "events.db", OpenMode::ReadWrite, clock_);
    ASSERT_TRUE(opened) << opened.error().message();
    store_ = *std::move(opened);
  }

  std::optional<system::TempFolder> folder_;
  ManualClock clock_{std::chrono::seconds(1000)};
  std::unique_ptr<candidate::CandidateStore> store_;
};

TEST_P(Conformance, NumbersEventsFromOneWithoutGaps) {
  for (int i = 1; i <= 3; ++i) {
    const auto event = store_->append(BestChanged{i, 0.5});
    ASSERT_TRUE(event) << event.error().message();
    EXPECT_EQ(event->sequence, i);
    EXPECT_EQ(event->time_ms, 1'000'000);
  }
}

TEST_P(Conformance, GivesBackWhatWasAppendedAlsoAfterReopening) {
  const std::vector<candidate::EventBody> bodies = {
      RunStarted{"w", 7, "virtual", "H200", "{}", 4, {.nvcc = "13.0"}},
      Proposed{some_candidate(0), std::nullopt, 0},
      Evaluated{
          0, {TargetKind::Gpu, Fidelity::Final}, Scored{.seconds = 1e-3, .hardware = "H200"}, 2.0}};
  for (const auto& body : bodies)
    ASSERT_TRUE(store_->append(body));
  reopen();
  ASSERT_TRUE(store_->append(BestChanged{0, 1e-3}));
  const auto events = store_->events();
  ASSERT_TRUE(events) << events.error().message();
  ASSERT_EQ(events->size(), 4U);
  for (std::size_t i = 0; i < bodies.size(); ++i)
    EXPECT_EQ((*events)[i].body, bodies[i]);
  EXPECT_EQ(events->back().sequence, 4);
}

TEST_P(Conformance, GivesOnlyLaterEventsWhenAsked) {
  for (int i = 0; i < 5; ++i)
    ASSERT_TRUE(store_->append(BestChanged{i, 0}));
  const auto events = store_->events(3);
  ASSERT_TRUE(events);
  ASSERT_EQ(events->size(), 2U);
  EXPECT_EQ(events->front().sequence, 4);
  EXPECT_TRUE(store_->events(99)->empty());
}

TEST_P(Conformance, KeepsAnyText) {
  auto strange = some_candidate(0);
  strange.source = program::single_file("program.cu", "quote \" back \\ tab \t é \x01 end");
  ASSERT_TRUE(store_->append(Proposed{strange, std::nullopt}));
  EXPECT_EQ(std::get<Proposed>(store_->events()->front().body).candidate, strange);
}

INSTANTIATE_TEST_SUITE_P(Stores,
                         Conformance,
                         testing::Values("memory", "sqlite"),
                         [](const auto& instance) { return std::string(instance.param); });

TEST(RunState, FoldsEventsIntoCandidatesAndBest) {
  ManualClock clock;
  MemoryStore store(clock);
  ASSERT_TRUE(store.append(Proposed{some_candidate(0), std::nullopt}));
  ASSERT_TRUE(store.append(candidate::Exchanged{1, {.answer = "paid"}}));
  ASSERT_TRUE(store.append(Evaluated{0, {}, Scored{.seconds = 2, .hardware = "H200"}, 1.0}));
  ASSERT_TRUE(store.append(Evaluated{
      0, {.fidelity = Fidelity::Standard}, Scored{.seconds = 3, .hardware = "H200"}, 1.0}));
  ASSERT_TRUE(store.append(BestChanged{0, 3}));
  const auto state = candidate::fold(*store.events(0));
  ASSERT_EQ(state.entries.size(), 1U);
  EXPECT_EQ(state.entries[0].scored()->seconds, 3);
  EXPECT_EQ(state.entries[0].wall_seconds, 2.0);
  EXPECT_EQ(state.best, 0);
  // The answer bought for candidate 1 waits for it: a resumed run does not buy it again.
  ASSERT_EQ(state.unused_exchanges.at(1).size(), 1U);
}

/// Appends for ever and acknowledges each event on the pipe.
[[noreturn]] void append_until_killed(const system::Path& file, int pipe) {
  const system::SystemClock clock;
  auto store = SqliteStore::open(file, OpenMode::ReadWrite, clock);
  for (int i = 0; store; ++i) {
    const auto event = (*store)->append(Proposed{some_candidate(i, 3000), std::nullopt});
    if (!event) break;
    (void)!::write(pipe, &event->sequence, sizeof event->sequence);
  }
  ::_exit(1);
}

TEST(SqliteStore, LosesNothingAcknowledgedWhenKilled) {
  auto folder = system::TempFolder::create("cuco_kill");
  ASSERT_TRUE(folder);
  const auto file = folder->path() / "events.db";
  const system::SystemClock clock;
  for (int round = 0; round < 5; ++round) {
    int ends[2];
    ASSERT_EQ(::pipe(ends), 0);
    const pid_t child = ::fork();
    if (child == 0) append_until_killed(file, ends[1]);
    ::close(ends[1]);
    std::int64_t acknowledged = 0;
    for (int i = 0; i < 5 + 7 * round; ++i) {
      ASSERT_EQ(::read(ends[0], &acknowledged, sizeof acknowledged), 8);
    }
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    while (::read(ends[0], &acknowledged, sizeof acknowledged) == 8) {
    }
    ::close(ends[0]);
    auto store = SqliteStore::open(file, OpenMode::ReadOnly, clock);
    ASSERT_TRUE(store) << store.error().message();
    const auto events = (*store)->events(0);
    ASSERT_TRUE(events) << events.error().message();
    EXPECT_GE(events->back().sequence, acknowledged);
    EXPECT_EQ(static_cast<std::int64_t>(events->size()), events->back().sequence);
  }
}

TEST(SqliteStore, AppendsInLessThanTenMilliseconds) {
  auto folder = system::TempFolder::create("cuco_speed");
  ASSERT_TRUE(folder);
  const system::SystemClock clock;
  auto store = SqliteStore::open(folder->path() / "events.db", OpenMode::ReadWrite, clock);
  ASSERT_TRUE(store);
  constexpr int kEvents = 200;
  const auto start = clock.now();
  const auto cpu_start = std::clock();
  for (int i = 0; i < kEvents; ++i) {
    ASSERT_TRUE((*store)->append(Proposed{some_candidate(i, 20'000), std::nullopt}));
  }
  const auto wall = std::chrono::duration<double, std::milli>(clock.now() - start) / kEvents;
  RecordProperty("wall_milliseconds_per_append", std::to_string(wall.count()));
  // Processor time: the wall also counts what else the machine and its disk are doing.
  const double cpu = 1e3 * static_cast<double>(std::clock() - cpu_start) / CLOCKS_PER_SEC / kEvents;
  RecordProperty("cpu_milliseconds_per_append", std::to_string(cpu));
  EXPECT_LT(cpu, 10.0);
}

TEST(SqliteStore, ReadsBesideAWriter) {
  auto folder = system::TempFolder::create("cuco_beside");
  const system::SystemClock clock;
  auto writer = SqliteStore::open(folder->path() / "e.db", OpenMode::ReadWrite, clock);
  ASSERT_TRUE(writer);
  ASSERT_TRUE((*writer)->append(BestChanged{1, 1}));
  auto reader = SqliteStore::open(folder->path() / "e.db", OpenMode::ReadOnly, clock);
  ASSERT_TRUE(reader) << reader.error().message();
  EXPECT_EQ((*reader)->events(0)->size(), 1U);
  ASSERT_TRUE((*writer)->append(BestChanged{2, 1}));
  EXPECT_EQ((*reader)->events(0)->size(), 2U);
  EXPECT_FALSE((*reader)->append(BestChanged{3, 1}));
}

TEST(SqliteStore, IsNotFoundWhereThereIsNone) {
  const system::SystemClock clock;
  const auto opened = SqliteStore::open("/nonexistent/e.db", OpenMode::ReadOnly, clock);
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().kind(), ErrorKind::NotFound);
}

TEST(RunFolder, CountsUpAndIsFoundByNumberOrLast) {
  auto folder = system::TempFolder::create("cuco_runs");
  const auto root = folder->path() / "runs";
  EXPECT_TRUE(list_runs(root)->empty());
  EXPECT_FALSE(find_run(root, "last"));
  EXPECT_EQ(create_run(root)->name, "0001");
  EXPECT_EQ(create_run(root)->name, "0002");
  EXPECT_EQ(find_run(root, "last")->name, "0002");
  EXPECT_EQ(find_run(root, "1")->name, "0001");
  EXPECT_EQ(find_run(root, "0002")->name, "0002");
  EXPECT_EQ(find_run(root, "7").error().message(), "no run '7'; runs are 0001 to 0002");
}

TEST(RunFolder, IsLockedByOneProcessAtATime) {
  auto folder = system::TempFolder::create("cuco_lock");
  const auto run = create_run(folder->path());
  ASSERT_TRUE(run);
  auto first = lock_run(*run);
  ASSERT_TRUE(first);
  EXPECT_EQ(lock_run(*run).error().kind(), ErrorKind::Unavailable);
  first->reset();
  EXPECT_TRUE(lock_run(*run));
}

TEST(Recording, GivesBackTheRunWithItsTimes) {
  const auto folder = *system::TempFolder::create();
  const std::vector<candidate::Event> events = {
      {1, 1'000, candidate::RunStarted{"w", 7, "virtual", "h200", "{}"}},
      {2, 61'000, candidate::StepDone{"analyse", true, "line\nbreak \"quoted\""}}};
  const auto read = parse_recording(to_recording(events));
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_EQ(*read, events);
  const RunFolder demo = demo_run(folder.path());
  EXPECT_FALSE(find_run(folder.path(), "demo"));
  for (int time = 0; time < 2; ++time)  // The second replaces the first.
    ASSERT_TRUE(write_run(*read, demo));
  EXPECT_EQ(*load_events(*find_run(folder.path(), "demo")), events);
  EXPECT_TRUE(list_runs(folder.path())->empty());
}

TEST(Recording, NamesTheLineThatIsWrong) {
  const auto broken = parse_recording("\n{\"sequence\":1}\n");
  ASSERT_FALSE(broken);
  EXPECT_THAT(broken.error().message(), testing::HasSubstr("line 2"));
  EXPECT_FALSE(parse_recording("{\"sequence\":1,\"time_ms\":1,\"kind\":\"no\",\"body\":{}}"));
}

}  // namespace
}  // namespace cuco::store
