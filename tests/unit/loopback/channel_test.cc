// SPDX-License-Identifier: Apache-2.0
#include "loopback/channel.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <filesystem>
#include <utility>

#include <gtest/gtest.h>

namespace cuco::loopback {
namespace {

std::pair<Channel, Channel> connected() {
  std::array<int, 2> ends{-1, -1};
  EXPECT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()), 0);
  return {Channel(ends[0]), Channel(ends[1])};
}

TEST(Channel, MessagesKeepTheirBordersAndBringDescriptors) {
  auto [one, other] = connected();
  const int memory = ::memfd_create("test", MFD_CLOEXEC);
  ASSERT_EQ(::pwrite(memory, "shared", 6, 0), 6);
  ASSERT_TRUE(one.send("first"));
  ASSERT_TRUE(one.send("second", memory));
  ::close(memory);
  const auto first = other.receive();
  const auto second = other.receive();
  ASSERT_TRUE(first && second);
  EXPECT_EQ(first->bytes, "first");
  EXPECT_EQ(first->descriptor, -1);
  EXPECT_EQ(second->bytes, "second");
  std::array<char, 7> read{};
  ASSERT_EQ(::pread(second->descriptor, read.data(), 6, 0), 6);
  EXPECT_STREQ(read.data(), "shared");
  ::close(second->descriptor);
}

TEST(Channel, TheLargestMessageComesWholeAndALargerOneDoesNotGo) {
  auto [one, other] = connected();
  const std::string largest(Channel::kMostBytes, 'x');
  ASSERT_TRUE(one.send(largest));
  const auto got = other.receive();
  ASSERT_TRUE(got);
  EXPECT_EQ(got->bytes, largest);
  EXPECT_FALSE(one.send(largest + "x"));
}

TEST(Channel, TheEndOfAProcessIsSeenAtTheOtherEnd) {
  auto [one, other] = connected();
  const pid_t child = ::fork();
  if (child == 0) {
    {
      const Channel mine = std::move(one);
    }
    (void)other.send("here");
    _exit(0);
  }
  {
    const Channel theirs = std::move(other);
  }
  const auto here = one.receive();
  ASSERT_TRUE(here);
  EXPECT_EQ(here->bytes, "here");
  EXPECT_FALSE(one.receive());
  EXPECT_FALSE(one.send("anybody?"));
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
}

TEST(Channel, PatienceEnds) {
  auto [one, other] = connected();
  one.set_patience(1);
  EXPECT_FALSE(one.receive());
}

TEST(Channel, NobodyListensWhereThereIsNothing) {
  const std::string path =
      std::filesystem::temp_directory_path() / ("channel-test-" + std::to_string(::getpid()));
  EXPECT_FALSE(Channel::connect(path));
  EXPECT_EQ(errno, ENOENT);
  const int socket = Channel::listen(path);
  ASSERT_GE(socket, 0);
  auto channel = Channel::connect(path);
  EXPECT_TRUE(channel);
  EXPECT_LT(Channel::listen(path), 0);  // The place is taken.
  ::close(socket);
  EXPECT_FALSE(Channel::connect(path));
  EXPECT_EQ(errno, ECONNREFUSED);
  std::filesystem::remove(path);
  EXPECT_LT(Channel::listen(std::string(200, 'x')), 0);
}

}  // namespace
}  // namespace cuco::loopback
