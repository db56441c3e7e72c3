// SPDX-License-Identifier: Apache-2.0
#include "system/os/files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "system/folders/temp_folders.h"
#include "system/os/streams.h"

namespace cuco::system {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;

TEST(Files, WriteThenReadGivesTheSameBytes) {
  const TempFolder folder = *TempFolder::create();
  const std::string bytes("a\0b\n", 4);
  ASSERT_TRUE(write_file(folder.path() / "x", bytes));
  EXPECT_EQ(*read_file(folder.path() / "x"), bytes);
}

TEST(Files, WriteReplacesWholeAndLeavesNoTemporary) {
  const TempFolder folder = *TempFolder::create();
  ASSERT_TRUE(write_file(folder.path() / "x", "a long first version"));
  ASSERT_TRUE(write_file(folder.path() / "x", "new", 0600));
  EXPECT_EQ(*read_file(folder.path() / "x"), "new");
  EXPECT_THAT(*walk(folder.path()), ElementsAre(Path("x")));
  struct stat status{};
  ASSERT_EQ(::stat((folder.path() / "x").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0600U);
}

TEST(Files, FailedWriteLeavesTheOldFileAndNoTemporary) {
  const TempFolder folder = *TempFolder::create();
  ASSERT_TRUE(make_folder(folder.path() / "x"));  // a folder cannot be renamed over
  EXPECT_FALSE(write_file(folder.path() / "x", "new"));
  EXPECT_TRUE(walk(folder.path())->empty());
}

TEST(Files, AbsentIsNotFoundAndNamesThePath) {
  const Result<std::string> read = read_file("/nonexistent/file");
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().kind(), ErrorKind::NotFound);
  EXPECT_EQ(read.error().message(), "read '/nonexistent/file': No such file or directory");
}

TEST(Files, ReadRefusesMoreThanTheLimit) {
  const TempFolder folder = *TempFolder::create();
  ASSERT_TRUE(write_file(folder.path() / "x", "0123456789"));
  EXPECT_TRUE(read_file(folder.path() / "x", 10));
  EXPECT_EQ(read_file(folder.path() / "x", 9).error().kind(), ErrorKind::InvalidInput);
}

TEST(Files, ReadingWaitsForNobodyAndTakesNoDevice) {
  const TempFolder folder = *TempFolder::create();
  const Path pipe = folder.path() / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(*read_file(pipe), "");
  EXPECT_EQ(*read_file("/dev/null"), "");
  EXPECT_EQ(read_file("/dev/zero").error().message(),
            "read '/dev/zero': it is a device, not a file");
  Path link = folder.path() / "link";
  ASSERT_EQ(::symlink("link", link.c_str()), 0);
  EXPECT_EQ(read_file(link).error().kind(), ErrorKind::InvalidInput);
  EXPECT_EQ(read_file(std::string(300, 'x')).error().kind(), ErrorKind::InvalidInput);
}

TEST(Files, APipeIsReadWhileItsWriterLives) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const Fd read_end(ends[0]);
  std::thread writer([&] {
    const Fd write_end(ends[1]);
    ASSERT_TRUE(write_all(write_end.get(), "some"));
    ASSERT_TRUE(write_all(write_end.get(), " text"));
  });
  EXPECT_EQ(*read_file("/dev/fd/" + std::to_string(read_end.get())), "some text");
  writer.join();
}

TEST(Files, DevicesAndPipesAreWrittenIntoNotReplaced) {
  const TempFolder folder = *TempFolder::create();
  const Path pipe = folder.path() / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_FALSE(write_file(pipe, "x"));  // nobody reads
  EXPECT_TRUE(std::filesystem::is_fifo(pipe));
  const Path null = folder.path() / "null";
  ASSERT_EQ(::symlink("/dev/null", null.c_str()), 0);
  EXPECT_TRUE(write_file(null, "x"));
  EXPECT_TRUE(std::filesystem::is_symlink(null));
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const Fd read_end(ends[0]);
  {
    const Fd write_end(ends[1]);
    EXPECT_TRUE(write_file("/dev/fd/" + std::to_string(ends[1]), "text"));
  }
  EXPECT_EQ(*read_to_end(read_end.get(), 100), "text");
}

TEST(TempFolder, OfAProcessThatWasKilledIsRemovedByTheNext) {
  const TempFolder place = *TempFolder::create();
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const Result<TempFolder> folder = TempFolder::create("cuco-x", place.path());
    const std::string name = folder->path().string();
    ::_exit(write_all(ends[1], name).has_value() ? 0 : 1);  // no destructor, as if it was killed
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  ASSERT_EQ(status, 0);
  ::close(ends[1]);
  const Fd read_end(ends[0]);
  const Path abandoned = *read_to_end(read_end.get(), 1000);
  ASSERT_TRUE(fs::exists(abandoned));
  const TempFolder mine = *TempFolder::create("cuco-y", place.path());
  ASSERT_TRUE(make_folder(place.path() / "somebody.own-abcdef"));
  remove_abandoned_folders(place.path(), /*young_seconds=*/-1);
  EXPECT_FALSE(fs::exists(abandoned));
  EXPECT_TRUE(fs::exists(mine.path()));  // it is locked
  EXPECT_TRUE(fs::exists(place.path() / "somebody.own-abcdef"));
}

TEST(Files, AppendingAddsToTheEndAndMakesTheFile) {
  const TempFolder folder = *TempFolder::create();
  ASSERT_TRUE(append_to_file(folder.path() / "x", "one\n"));
  ASSERT_TRUE(append_to_file(folder.path() / "x", "two\n"));
  EXPECT_EQ(*read_file(folder.path() / "x"), "one\ntwo\n");
  EXPECT_EQ(append_to_file(folder.path() / "no/x", "").error().kind(), ErrorKind::NotFound);
}

TEST(Files, ALockIsHeldUntilItsDescriptorIsGone) {
  const TempFolder folder = *TempFolder::create();
  {
    const auto lock = lock_file(folder.path() / "lock");
    ASSERT_TRUE(lock);
    EXPECT_EQ(lock_file(folder.path() / "lock").error().kind(), ErrorKind::Unavailable);
  }
  EXPECT_TRUE(lock_file(folder.path() / "lock"));
}

TEST(Files, WalkIsSortedAndDoesNotFollowLinks) {
  const TempFolder folder = *TempFolder::create();
  ASSERT_TRUE(make_folder(folder.path() / "b/c"));
  ASSERT_TRUE(write_file(folder.path() / "b/c/2", ""));
  ASSERT_TRUE(write_file(folder.path() / "a", ""));
  fs::create_symlink("/etc", folder.path() / "link");
  EXPECT_THAT(*walk(folder.path()), ElementsAre(Path("a"), Path("b/c/2")));
}

TEST(Files, TempFolderVanishesWithItsContents) {
  Path path;
  {
    const TempFolder folder = *TempFolder::create("prefix");
    path = folder.path();
    EXPECT_EQ(path.filename().string().substr(0, 7), "prefix.");
    ASSERT_TRUE(write_file(path / "x", "y"));
  }
  EXPECT_FALSE(fs::exists(path));
}

TEST(Files, TempFolderCanBeKept) {
  const TempFolder outer = *TempFolder::create();
  Path kept;
  {
    TempFolder inner = *TempFolder::create("k", outer.path());
    kept = inner.keep();
  }
  EXPECT_TRUE(fs::exists(kept));
}

TEST(Files, ProgramsAreFoundAlongAPath) {
  EXPECT_EQ(*find_program("sh", "/nonexistent:/bin"), Path("/bin/sh"));
  EXPECT_EQ(find_program("sh", "/nonexistent").error().kind(), ErrorKind::NotFound);
  EXPECT_FALSE(find_program("passwd", "/etc"));  // there, but not executable
}

}  // namespace
}  // namespace cuco::system
