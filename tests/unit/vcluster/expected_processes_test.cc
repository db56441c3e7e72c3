// SPDX-License-Identifier: Apache-2.0
// Processes that were told of a server's socket and have not connected.
#include "vcluster/host/expected_processes.h"

#include <signal.h>
#include <sys/wait.h>

#include <thread>

#include <gtest/gtest.h>
#include <spawn.h>

#include "shims/wire/protocol.h"
#include "system/os/files.h"
#include "system/os/socket.h"

namespace cuco::vcluster {
namespace {

TEST(ExpectedProcesses, AProcessThatSleepsIsSeenUntilItIsKnown) {
  const auto folder = system::TempFolder::create("expected");
  ASSERT_TRUE(folder.has_value());
  const system::Path socket = folder->path() / "socket";
  const auto listener = system::listen_at(socket, system::SocketKind::Stream, 0600);
  ASSERT_TRUE(listener.has_value());
  EXPECT_EQ(find_expected_processes(*listener, {}), ExpectedProcesses::None);

  std::string variable = std::string(wire::kSocketVariable) + "=" + socket.string();
  std::string name = "sleep";
  std::string seconds = "100";
  char* argv[] = {name.data(), seconds.data(), nullptr};
  char* environment[] = {variable.data(), nullptr};
  pid_t child = 0;
  ASSERT_EQ(::posix_spawn(&child, "/bin/sleep", nullptr, nullptr, argv, environment), 0);
  // While it is being loaded it is busy.
  ExpectedProcesses seen = ExpectedProcesses::None;
  for (int look = 0; look < 1000 && seen != ExpectedProcesses::Waiting; ++look) {
    seen = find_expected_processes(*listener, {});
    std::this_thread::yield();
  }
  EXPECT_EQ(seen, ExpectedProcesses::Waiting);
  EXPECT_EQ(find_expected_processes(*listener, {static_cast<std::uint32_t>(child)}),
            ExpectedProcesses::None);
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  EXPECT_EQ(find_expected_processes(*listener, {}), ExpectedProcesses::None);
}

}  // namespace
}  // namespace cuco::vcluster
