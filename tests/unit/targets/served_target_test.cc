// SPDX-License-Identifier: Apache-2.0
#include "targets/served_target.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "system/os/socket.h"

namespace cuco::targets {
namespace {

/// Its server is a job that says nothing and ends.
class LeavingTarget final : public ServedTarget {
 public:
  LeavingTarget(system::Process server, system::Fd control)
      : ServedTarget("test server", wire::Fd(control.release())), server_(std::move(server)) {}
  [[nodiscard]] Result<RankAccess> rank_access() const override { return RankAccess(); }
  [[nodiscard]] bool is_measured() const override { return false; }

 private:
  system::Process& server() override { return server_; }
  system::Process server_;
};

constexpr int kControl = 3;

system::Process start(const std::string& program, int control = -1) {
  system::JobSpec job;
  if (control >= 0) job.command.fds = {{control, kControl}};
  job.command.argv = {"/bin/sh", "-c", program};
  job.command.environment = system::Environment::bare();
  return *system::Process::start(job);
}

TEST(ServedTarget, ThatItsServerLeftIsSaidOnceAndAskedForAsOftenAsOneLikes) {
  auto control = system::socket_pair(system::SocketKind::Stream);
  ASSERT_TRUE(control);
  std::vector<system::Process> jobs;
  jobs.push_back(start("sleep 60"));
  const auto ranks = as_ranks(std::move(jobs));
  ASSERT_TRUE(ranks);
  LeavingTarget target(start("sleep 0.2; echo why >&2; exit 3", control->second.get()),
                       std::move(control->first));
  control->second.reset();
  const auto event = target.wait(**ranks, {.wall = std::chrono::seconds(20)});
  ASSERT_TRUE(event) << event.error().message();
  const auto* died = std::get_if<RanksDied>(&*event);
  ASSERT_NE(died, nullptr);
  EXPECT_THAT(died->who.front(), testing::HasSubstr("test server ended under it"));
  const auto findings = target.findings();
  ASSERT_TRUE(findings) << findings.error().message();
  EXPECT_TRUE(findings->empty());
  const auto profile = target.profile();
  ASSERT_FALSE(profile);
  EXPECT_THAT(profile.error().message(), testing::HasSubstr("test server"));
  (*ranks)->kill();
}

/// How long a target with this server is waited for, with a limit of 300 ms.
std::chrono::milliseconds patience_with(const std::string& server) {
  auto control = *system::socket_pair(system::SocketKind::Stream);
  std::vector<system::Process> jobs;
  jobs.push_back(start("sleep 60"));
  const auto ranks = *as_ranks(std::move(jobs));
  LeavingTarget target(start(server, control.second.get()), std::move(control.first));
  const auto begin = std::chrono::steady_clock::now();
  const auto event = target.wait(*ranks, {.wall = std::chrono::milliseconds(300)});
  EXPECT_TRUE(event && std::holds_alternative<OutOfTime>(*event));
  ranks->kill();
  return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() -
                                                               begin);
}

TEST(ServedTarget, WaitsLongerForAServerThatGetsNoProcessor) {
  const std::string one = "cpu=$(taskset -cp $$ | sed 's/.*: //; s/[-,].*//'); ";
  const std::string loop = "taskset -c $cpu sh -c 'while :; do :; done' & ";
  const auto starved = patience_with(one + loop + loop + loop + loop + "wait");
  EXPECT_GE(starved, std::chrono::milliseconds(600));
  EXPECT_LE(starved, std::chrono::milliseconds(300 * kMostStarvation + 2000));
  EXPECT_GE(patience_with("sleep 60"), std::chrono::milliseconds(300));
}

}  // namespace
}  // namespace cuco::targets
