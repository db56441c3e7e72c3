// SPDX-License-Identifier: Apache-2.0
#include "system/os/socket.h"

#include <fcntl.h>

#include <array>

#include <gtest/gtest.h>

#include "system/memory/shared_memory.h"
#include "system/os/environment.h"
#include "system/os/streams.h"

namespace cuco::system {
namespace {

std::string_view text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

TEST(Socket, PacketsKeepTheirBorders) {
  auto [left, right] = *socket_pair(SocketKind::Packet);
  ASSERT_TRUE(send_with_fds(left, "one", {}));
  ASSERT_TRUE(send_with_fds(left, "two", {}));
  std::array<std::byte, 16> buffer{};
  EXPECT_EQ(receive_with_fds(right, buffer)->bytes, 3U);
  EXPECT_EQ(text(std::span(buffer).first(3)), "one");
  left.reset();
  EXPECT_EQ(receive_with_fds(right, buffer)->bytes, 3U);
  EXPECT_EQ(receive_with_fds(right, buffer)->bytes, 0U);
}

TEST(Socket, CarriesDescriptorsOfSharedMemory) {
  auto [left, right] = *socket_pair(SocketKind::Stream);
  const Fd memory = *create_shared_memory("test", 4096);
  const Mapping mine = *Mapping::map(memory, 4096, Access::ReadWrite);
  const std::array<int, 1> fds{memory.get()};
  ASSERT_TRUE(send_with_fds(left, "m", fds));
  std::array<std::byte, 16> buffer{};
  const Received received = *receive_with_fds(right, buffer);
  ASSERT_EQ(received.fds.size(), 1U);
  EXPECT_NE(::fcntl(received.fds[0].get(), F_GETFD) & FD_CLOEXEC, 0);
  const Mapping theirs = *Mapping::map(received.fds[0], 4096, Access::ReadWrite);
  theirs.bytes()[17] = std::byte{42};
  EXPECT_EQ(mine.bytes()[17], std::byte{42});
}

TEST(Socket, MessageThatDoesNotFitIsRefused) {
  auto [left, right] = *socket_pair(SocketKind::Packet);
  ASSERT_TRUE(send_with_fds(left, "too long", {}));
  std::array<std::byte, 4> buffer{};
  EXPECT_EQ(receive_with_fds(right, buffer).error().kind(), ErrorKind::Protocol);
}

TEST(Socket, ConnectsByPath) {
  const TempFolder folder = *TempFolder::create();
  const Fd listener = *listen_at(folder.path() / "s", SocketKind::Stream);
  const Fd client = *connect_to(folder.path() / "s", SocketKind::Stream);
  const Fd server = *accept_from(listener);
  ASSERT_TRUE(write_all(client.get(), "hello"));
  EXPECT_TRUE(*wait_readable(server.get(), std::chrono::milliseconds(1000)));
  std::array<std::byte, 5> buffer{};
  ASSERT_TRUE(read_exactly(server.get(), buffer));
  EXPECT_EQ(text(buffer), "hello");
  EXPECT_FALSE(*wait_readable(server.get(), std::chrono::milliseconds(0)));
}

TEST(Socket, WritingToAPeerThatHasGoneIsAnError) {
  auto [left, right] = *socket_pair(SocketKind::Stream);
  right.reset();
  EXPECT_FALSE(write_all(left.get(), "x"));
}

TEST(Socket, PathsThatDoNotFitAreRefused) {
  EXPECT_EQ(connect_to(Path(std::string(200, 'x')), SocketKind::Stream).error().kind(),
            ErrorKind::InvalidInput);
}

TEST(SharedMemory, SealedContentsCannotBeMappedWritable) {
  const Fd memory = *create_shared_memory("test", 4096);
  ASSERT_TRUE(write_all(memory.get(), "secret"));
  ASSERT_TRUE(seal_contents(memory));
  EXPECT_FALSE(Mapping::map(memory, 4096, Access::ReadWrite));
  const Mapping reader = *Mapping::map(memory, 4096, Access::Read);
  EXPECT_EQ(text(reader.bytes().first(6)), "secret");
  EXPECT_FALSE(write_all(memory.get(), "x"));
}

TEST(Environment, OnlyKeepsWhatIsNamed) {
  Environment environment;
  environment.set("PATH", "/bin").set("API_KEY", "secret").set("A", "b=c");
  const std::array<std::string_view, 2> names{"PATH", "HOME"};
  EXPECT_EQ(environment.only(names), Environment().set("PATH", "/bin"));
  EXPECT_EQ(environment.entries().at(0), "A=b=c");
  EXPECT_EQ(Environment::bare().get("API_KEY"), std::nullopt);
  EXPECT_TRUE(Environment::current().get("PATH").has_value());
}

}  // namespace
}  // namespace cuco::system
