// SPDX-License-Identifier: Apache-2.0
#include "system/os/private_file.h"

#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cuco::system {
namespace {
using testing::HasSubstr;

TEST(PrivateFiles, AreReadOnlyIfNobodyElseCan) {
  auto folder = TempFolder::create("cuco_private");
  ASSERT_TRUE(folder);
  const auto file = folder->path() / "file";
  ASSERT_TRUE(write_file(file, "text", 0600));
  EXPECT_EQ(*read_private_file(file, 100), "text");
  EXPECT_THAT(read_private_file(file, 3).error().message(), HasSubstr("longer than 3 bytes"));
  std::filesystem::permissions(file, std::filesystem::perms(0640));
  EXPECT_THAT(read_private_file(file, 100).error().message(),
              HasSubstr("can be read by others (mode 640); run: chmod 600"));
  EXPECT_FALSE(read_private_file(folder->path(), 100));
  EXPECT_EQ(read_private_file(folder->path() / "absent", 100).error().kind(), ErrorKind::NotFound);
}

TEST(MemoryPictures, AreForbiddenForTheWholeProcess) {
  const pid_t child = ::fork();
  if (child == 0) {
    forbid_memory_pictures();
    rlimit limit{};
    const bool none = ::getrlimit(RLIMIT_CORE, &limit) == 0 && limit.rlim_max == 0;
    ::_exit(none && ::prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) == 0 ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace cuco::system
