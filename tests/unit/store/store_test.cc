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
#include <sqlite3.h>

#include "candidate/run_state.h"
#include "candidate/run_summary.h"
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

TEST_P(Conformance, GivesTextsBackHoweverManyThereAre) {
  constexpr int kMany = 40;
  const auto text = [](int i) { return std::to_string(i) + std::string(400'000, 'x'); };
  std::vector<program::Source> given;
  for (int i = 0; i < kMany; ++i) {
    candidate::Candidate made = some_candidate(i);
    made.source = program::single_file("program.cu", text(i));
    const auto event = store_->append(Proposed{made, std::nullopt, i});
    ASSERT_TRUE(event) << event.error().message();
    given.push_back(std::get<Proposed>(event->body).candidate.source);
  }
  reopen();
  const auto events = store_->events();
  ASSERT_TRUE(events) << events.error().message();
  store_.reset();  // sources outlive the store
  for (int i = 0; i < kMany; ++i) {
    const auto at = static_cast<std::size_t>(i);
    EXPECT_FALSE(given[at].empty());
    EXPECT_TRUE(given[at].files().front().text == text(i)) << i;
    const auto& read = std::get<Proposed>((*events)[at].body).candidate.source;
    EXPECT_TRUE(read.find("program.cu")->text == text(i)) << i;
    EXPECT_EQ(read.find("other.cu"), nullptr);
  }
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

TEST_P(Conformance, SummarisesWhatTheEventsAddUpTo) {
  auto second = some_candidate(1);
  second.lineage = {.proposer = "expert", .island = "LSA", .phase = "explore", .parent = 0};
  second.code_hash = "abc";
  const std::vector<candidate::EventBody> bodies = {
      RunStarted{"w", 7, "virtual cluster", "4 x H200", "{}", 4, {}},
      Proposed{some_candidate(0), std::nullopt, 0},
      Evaluated{0, {.fidelity = Fidelity::Standard}, Scored{.seconds = 2e-3}, 1},
      Proposed{second, std::nullopt, 1},
      Evaluated{1,
                {.fidelity = Fidelity::Final},
                Scored{.seconds = 1e-3, .baseline_seconds = 2e-3, .hardware = "h200"},
                2},
      // A lower rung that is heard of later does not count.
      Evaluated{1, {}, Scored{.seconds = 5e-4, .baseline_seconds = 1e-3}, 3},
      Proposed{some_candidate(2), candidate::ProposalRejected{"garbage", ""}, 2},
      BestChanged{1, 1e-3}, candidate::RunFinished{"no more ideas"}};
  for (const auto& body : bodies)
    ASSERT_TRUE(store_->append(body));
  const auto check = [&](const candidate::RunSummary& summary) {
    EXPECT_EQ(summary, candidate::summarise(*store_->events(0)));
    EXPECT_EQ(summary.workload, "w");
    EXPECT_EQ(summary.best, 1);
    EXPECT_EQ(summary.finished, "no more ideas");
    ASSERT_EQ(summary.candidates.size(), 3U);
    EXPECT_EQ(summary.candidates[1].seconds, 1e-3);
    EXPECT_EQ(summary.candidates[1].wall_seconds, 5);
    EXPECT_EQ(summary.candidates[1].parent, 0);
    EXPECT_EQ(summary.candidates[2].text, "no candidate: garbage");
  };
  check(*store_->summary());
  reopen();
  check(*store_->summary());
  // A run that goes on is not finished.
  ASSERT_TRUE(store_->append(Proposed{some_candidate(3), std::nullopt, 3}));
  EXPECT_EQ(store_->summary()->finished, std::nullopt);
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

/// SQL on the file itself, behind the store's back.
void execute(const system::Path& file, const std::string& sql) {
  sqlite3* database = nullptr;
  ASSERT_EQ(sqlite3_open(file.c_str(), &database), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(database, sql.c_str(), nullptr, nullptr, nullptr), SQLITE_OK)
      << sqlite3_errmsg(database);
  sqlite3_close(database);
}

std::int64_t number_from(const system::Path& file, const std::string& sql) {
  sqlite3* database = nullptr;
  sqlite3_stmt* query = nullptr;
  EXPECT_EQ(sqlite3_open(file.c_str(), &database), SQLITE_OK);
  EXPECT_EQ(sqlite3_prepare_v2(database, sql.c_str(), -1, &query, nullptr), SQLITE_OK) << sql;
  EXPECT_EQ(sqlite3_step(query), SQLITE_ROW);
  const auto value = sqlite3_column_int64(query, 0);
  sqlite3_finalize(query);
  sqlite3_close(database);
  return value;
}

TEST(Schema, KeepsASourceOnce) {
  auto folder = system::TempFolder::create("cuco_sources");
  const auto file = folder->path() / "e.db";
  const system::SystemClock clock;
  auto store = SqliteStore::open(file, OpenMode::ReadWrite, clock);
  for (int i = 0; i < 5; ++i)
    ASSERT_TRUE((*store)->append(Proposed{some_candidate(i, 5000), std::nullopt, i}));
  EXPECT_EQ(number_from(file, "SELECT count(*) FROM sources"), 1);
  EXPECT_LT(number_from(file, "SELECT max(length(body)) FROM events"), 1000);
}

/// As version 0.1 wrote it: sources in the events, no other tables.
void write_version_1(const system::Path& file) {
  execute(file,
          "CREATE TABLE events(sequence INTEGER PRIMARY KEY, time_ms INTEGER NOT NULL, "
          "kind TEXT NOT NULL, body TEXT NOT NULL);"
          "INSERT INTO events VALUES(1, 5, 'run-started', '{\"workload\":\"w\",\"seed\":3}');"
          "INSERT INTO events VALUES(2, 6, 'proposed', '{\"candidate\":{\"number\":0,\"source\":"
          "{\"files\":[{\"path\":\"program.cu\",\"text\":\"int old;\"}]},\"directive\":"
          "\"host · host-ordered · global barrier · block · whole\",\"lineage\":{},"
          "\"code_hash\":\"x\"}}');"
          "INSERT INTO events VALUES(3, 7, 'evaluated', '{\"candidate\":0,\"fidelity\":"
          "\"standard\",\"outcome\":{\"verdict\":\"scored\",\"seconds\":0.5}}');"
          "PRAGMA user_version=1;");
}

TEST(Schema, BringsVersionOneUpAndReadsItAsItIs) {
  auto folder = system::TempFolder::create("cuco_schema");
  const auto file = folder->path() / "e.db";
  write_version_1(file);
  const system::SystemClock clock;
  std::vector<Event> before;
  candidate::RunSummary summary;
  {  // Readers do not touch it.
    auto reader = SqliteStore::open(file, OpenMode::ReadOnly, clock);
    ASSERT_TRUE(reader) << reader.error().message();
    before = *(*reader)->events(0);
    summary = *(*reader)->summary();
  }
  EXPECT_EQ(number_from(file, "PRAGMA user_version"), 1);
  ASSERT_EQ(before.size(), 3U);
  {
    auto writer = SqliteStore::open(file, OpenMode::ReadWrite, clock);
    ASSERT_TRUE(writer) << writer.error().message();
    EXPECT_EQ(*(*writer)->events(0), before);
    EXPECT_EQ(*(*writer)->summary(), summary);
    EXPECT_EQ(std::get<Proposed>(before[1].body).candidate.source.files()[0].text, "int old;");
  }
  EXPECT_EQ(number_from(file, "PRAGMA user_version"), 2);
  EXPECT_EQ(number_from(file, "SELECT count(*) FROM sources"), 1);
  // Opened again and again it stays what it is.
  ASSERT_TRUE(SqliteStore::open(file, OpenMode::ReadWrite, clock));
  EXPECT_EQ(number_from(file, "PRAGMA user_version"), 2);
}

TEST(Schema, RefusesNewerVersionsAndLeavesThemAlone) {
  auto folder = system::TempFolder::create("cuco_schema");
  const auto file = folder->path() / "e.db";
  const system::SystemClock clock;
  ASSERT_TRUE(SqliteStore::open(file, OpenMode::ReadWrite, clock));
  execute(file, "PRAGMA user_version=3");
  for (const auto mode : {OpenMode::ReadWrite, OpenMode::ReadOnly}) {
    const auto opened = SqliteStore::open(file, mode, clock);
    ASSERT_FALSE(opened);
    EXPECT_THAT(opened.error().message(), testing::HasSubstr("newer cuco (schema 3"));
  }
  EXPECT_EQ(number_from(file, "PRAGMA user_version"), 3);
}

TEST(Schema, OpensTenThousandCandidatesInNoTime) {
  auto folder = system::TempFolder::create("cuco_many", "/dev/shm");
  if (!folder) folder = system::TempFolder::create("cuco_many");
  const auto file = folder->path() / "e.db";
  const system::SystemClock clock;
  constexpr int kMany = 10'000;
  {
    auto store = SqliteStore::open(file, OpenMode::ReadWrite, clock);
    for (int i = 0; i < kMany; ++i) {
      auto made = some_candidate(i);
      made.source =
          program::single_file("program.cu", std::to_string(i) + std::string(10'000, 'x'));
      ASSERT_TRUE((*store)->append(Proposed{made, std::nullopt, i}));
      ASSERT_TRUE(
          (*store)->append(Evaluated{i, {}, Scored{.seconds = 1e-3, .baseline_seconds = 2e-3}, 1}));
    }
  }
  const auto start = std::clock();
  const auto store = SqliteStore::open(file, OpenMode::ReadOnly, clock);
  const auto summary = (*store)->summary();
  const double milliseconds = 1e3 * static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
  ASSERT_TRUE(summary);
  EXPECT_EQ(summary->candidates.size(), static_cast<std::size_t>(kMany));
  RecordProperty("open_milliseconds", std::to_string(milliseconds));
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return;  // instrumented code is not timed
#endif
  EXPECT_LT(milliseconds, 200.0);
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
  for (const char* name : {"0001", "0002"}) {
    const auto made = create_run(root);
    ASSERT_TRUE(made);
    EXPECT_EQ(made->name, name);
    ASSERT_TRUE(system::write_file(made->database(), ""));
  }
  ASSERT_TRUE(create_run(root));  // nothing was stored there: it never began
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
