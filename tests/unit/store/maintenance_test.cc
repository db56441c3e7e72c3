// SPDX-License-Identifier: Apache-2.0
#include "store/maintenance.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include "store/sqlite_store.h"
#include "system/os/system_clock.h"

namespace cuco::store {
namespace {
using testing::ElementsAre;
using testing::HasSubstr;

class Maintaining : public testing::Test {
 protected:
  void SetUp() override {
    auto made = system::TempFolder::create("cuco_maintenance");
    ASSERT_TRUE(made);
    temp.emplace(*std::move(made));
    folder = *create_run(temp->path());
    const system::SystemClock clock;
    auto store = SqliteStore::open(folder.database(), OpenMode::ReadWrite, clock);
    ASSERT_TRUE(store);
    ASSERT_TRUE((*store)->append(candidate::RunStarted{.workload = "w"}));
    for (int i = 0; i < 20; ++i) {
      candidate::Candidate candidate{.number = i};
      candidate.source =
          program::single_file("program.cu", std::string(10'000, static_cast<char>('a' + i)));
      ASSERT_TRUE((*store)->append(candidate::Proposed{candidate, std::nullopt, i}));
    }
  }

  void change(const char* sql) const {
    sqlite3* database = nullptr;
    ASSERT_EQ(sqlite3_open(folder.database().c_str(), &database), SQLITE_OK);
    EXPECT_EQ(sqlite3_exec(database, sql, nullptr, nullptr, nullptr), SQLITE_OK);
    sqlite3_close(database);
  }

  std::optional<system::TempFolder> temp;
  RunFolder folder;
};

TEST_F(Maintaining, FindsNothingWrongWithAWholeRun) {
  const auto verified = verify(folder);
  ASSERT_TRUE(verified) << verified.error().message();
  EXPECT_TRUE(verified->problems.empty()) << verified->problems.front();
  EXPECT_EQ(verified->events, 21);
}

TEST_F(Maintaining, NamesAGapInTheSequence) {
  change("DELETE FROM events WHERE sequence = 5");
  EXPECT_THAT(verify(folder)->problems,
              testing::Contains(HasSubstr("event 6 stands where 5 should be")));
}

TEST_F(Maintaining, NamesASummaryThatIsNotWhatTheEventsSay) {
  change("UPDATE candidates SET proposer = 'nobody' WHERE number = 3");
  EXPECT_THAT(verify(folder)->problems, ElementsAre(HasSubstr("summary tables")));
}

TEST_F(Maintaining, NamesAnEventThatCannotBeRead) {
  change("DELETE FROM sources");
  EXPECT_FALSE(verify(folder)->problems.empty());
  change("UPDATE events SET body = '{' WHERE sequence = 1");
  EXPECT_FALSE(verify(folder)->problems.empty());
}

TEST_F(Maintaining, GivesBackWhatIsNotUsed) {
  change("CREATE TABLE waste AS SELECT * FROM sources; DROP TABLE waste");
  const auto made = vacuum(folder);
  ASSERT_TRUE(made) << made.error().message();
  EXPECT_LT(made->after, made->before);
  EXPECT_TRUE(verify(folder)->problems.empty());
}

TEST_F(Maintaining, LeavesARunAloneThatSomebodyWorksOn) {
  const auto lock = lock_run(folder);
  ASSERT_TRUE(lock);
  EXPECT_EQ(vacuum(folder).error().kind(), ErrorKind::Unavailable);
}

}  // namespace
}  // namespace cuco::store
