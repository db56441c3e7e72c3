// SPDX-License-Identifier: Apache-2.0
#include "store/source_shelf.h"

#include <gtest/gtest.h>
#include <sqlite3.h>

#include "base/clock.h"
#include "store/sqlite_store.h"

namespace cuco::store {
namespace {

constexpr std::size_t kBytes = 1000;

std::string text_of(int number) {
  return std::string(kBytes, static_cast<char>('a' + number));
}

class Shelf : public testing::Test {
 protected:
  void SetUp() override {
    auto folder = system::TempFolder::create("cuco_shelf");
    ASSERT_TRUE(folder);
    folder_.emplace(*std::move(folder));
    auto store = SqliteStore::open(file(), OpenMode::ReadWrite, clock_);
    ASSERT_TRUE(store) << store.error().message();
    store_ = *std::move(store);
    for (int i = 0; i < 10; ++i) {
      candidate::Candidate made;
      made.number = i;
      made.source = program::single_file("program.cu", text_of(i));
      const candidate::EventBody body = candidate::Proposed{made, std::nullopt, i};
      hashes_.push_back({{"program.cu", candidate::to_stored(body).texts.front().first}});
      ASSERT_TRUE(store_->append(body));
    }
    auto shelf = SourceShelf::open(file(), 3 * kBytes);
    ASSERT_TRUE(shelf) << shelf.error().message();
    shelf_ = *std::move(shelf);
  }

  [[nodiscard]] system::Path file() const { return folder_->path() / "e.db"; }
  [[nodiscard]] program::Source source(int number) {
    return shelf_->source(hashes_[static_cast<std::size_t>(number)]);
  }
  void forget_sources() const {
    sqlite3* database = nullptr;
    ASSERT_EQ(sqlite3_open(file().c_str(), &database), SQLITE_OK);
    EXPECT_EQ(sqlite3_exec(database, "DELETE FROM sources", nullptr, nullptr, nullptr), SQLITE_OK);
    sqlite3_close(database);
  }

  std::optional<system::TempFolder> folder_;
  ManualClock clock_;
  std::unique_ptr<SqliteStore> store_;
  std::shared_ptr<SourceShelf> shelf_;
  std::vector<FileHashes> hashes_;
};

TEST_F(Shelf, ReadsATextWhenSomebodyAsks) {
  const program::Source made = source(4);
  EXPECT_FALSE(made.empty());
  EXPECT_EQ(shelf_->reads(), 0U);
  EXPECT_EQ(made.files().front().text, text_of(4));
  EXPECT_EQ(made.find("program.cu")->text, text_of(4));
  EXPECT_EQ(shelf_->reads(), 1U);
}

TEST_F(Shelf, KeepsWhatWasAskedForLastAndNoMoreThanItMay) {
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(source(i).files().front().text, text_of(i));
    EXPECT_EQ(source(0).files().front().text, text_of(0));  // stays, being asked for
    EXPECT_LE(shelf_->bytes(), 3 * kBytes);
  }
  EXPECT_EQ(shelf_->reads(), 10U);
  EXPECT_EQ(source(1).files().front().text, text_of(1));  // had to go
  EXPECT_EQ(shelf_->reads(), 11U);
}

TEST_F(Shelf, TextsInHandStayWhateverIsReadAfterThem) {
  const program::Files held = source(0).files();
  const auto found = source(1).find("program.cu");
  for (int i = 2; i < 10; ++i)
    EXPECT_EQ(source(i).files().size(), 1U);
  EXPECT_EQ(held.front().text, text_of(0));
  EXPECT_EQ(found->text, text_of(1));
}

TEST_F(Shelf, SaysWhatItCouldNotRead) {
  forget_sources();
  EXPECT_EQ(shelf_->failure(), std::nullopt);
  const program::Files read = source(3).files();
  EXPECT_EQ(read.front().path, "program.cu");
  EXPECT_EQ(read.front().text, "");
  ASSERT_TRUE(shelf_->failure());
  EXPECT_NE(shelf_->failure()->message().find("is missing"), std::string::npos);
}

TEST_F(Shelf, NothingIsAppendedAfterATextThatCouldNotBeRead) {
  // Read again by the store itself, so that no text is in its memory.
  store_.reset();
  auto store = SqliteStore::open(file(), OpenMode::ReadWrite, clock_);
  ASSERT_TRUE(store);
  const auto events = (*store)->events(0);
  ASSERT_TRUE(events);
  ASSERT_TRUE((*store)->append(candidate::BestChanged{1, 0.5}));
  forget_sources();
  EXPECT_EQ(std::get<candidate::Proposed>(events->front().body).candidate.source.files().size(),
            1U);
  EXPECT_FALSE((*store)->append(candidate::BestChanged{2, 0.5}));
}

}  // namespace
}  // namespace cuco::store
