// SPDX-License-Identifier: Apache-2.0
//
// Every hostile program is contained: ended in time, nothing of it left, and the outcome says which
// fence it ran into. The table at the end is the summary.
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>

#include <arpa/inet.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>

#include "base/text.h"
#include "support/require.h"
#include "system/jobs/process.h"

namespace cuco::system {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;

/// Processes whose command line begins with a program of ours that should be gone.
int count_running(const std::string& program) {
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const auto line = read_file(entry.path() / "cmdline", 4096);
    if (line && line->starts_with(program)) ++count;
  }
  return count;
}

std::vector<std::string>& table() {
  static std::vector<std::string> rows;
  return rows;
}

class Hostile : public testing::Test {
 protected:
  void SetUp() override {
    const auto reports = probe_fences();
    ASSERT_TRUE(reports) << reports.error().message();
    for (const FenceReport& report : *reports) {
      CUCO_NEEDS("fences", report.works, fmt::format("{}: {}", name_of(report.fence), report.how));
    }
  }

  static void TearDownTestSuite() {
    fmt::print("\n  {:<16} {:<18} {:<18} {}\n", "attack", "outcome", "fence", "detail");
    for (const std::string& row : table())
      fmt::print("{}\n", row);
    fmt::print("attacks run: {}\n", table().size());
  }

  /// Runs the attack; nothing of it may be left. `fence` is what the table names where the attack
  /// was refused rather than ended.
  JobOutcome attack(const std::string& name,
                    std::vector<std::string> arguments = {},
                    std::optional<Fence> fence = std::nullopt) {
    JobSpec spec;
    const std::string program = std::string(CUCO_HOSTILE_DIR) + "/" + name;
    spec.command.argv = {program};
    spec.command.argv.insert(spec.command.argv.end(), arguments.begin(), arguments.end());
    spec.command.environment = Environment::bare();
    spec.command.folder = folder_.path();
    spec.limits.wall = milliseconds(1500);
    spec.limits.cpu = std::chrono::seconds(10);
    spec.limits.memory = memory_;
    spec.limits.processes = 32;
    spec.limits.output = 1U << 20U;
    spec.limits.output_ends_job = true;
    spec.sandbox =
        SandboxSpec{.tier = tier_, .read_only = {CUCO_HOSTILE_DIR}, .writable = {folder_.path()}};
    JobOutcome outcome = *run_job(spec);
    EXPECT_EQ(count_running(program), 0) << name;
    EXPECT_LT(outcome.wall, std::chrono::seconds(5)) << name;
    if (outcome.caught_by) fence = outcome.caught_by;
    std::string detail = outcome.detail.empty() ? std::string(trim(outcome.out)) : outcome.detail;
    if (outcome.stragglers > 0) detail = fmt::format("{} left, now dead", outcome.stragglers);
    table().push_back(fmt::format("  {:<16} {:<18} {:<18} {}", name,
                                  outcome.ending == Ending::Exited
                                      ? (outcome.code == 10 ? "refused" : "exited")
                                      : name_of(outcome.ending),
                                  fence ? name_of(*fence) : "-", detail.substr(0, 70)));
    return outcome;
  }

  TempFolder folder_ = *TempFolder::create();
  std::uint64_t memory_ = std::uint64_t{64} << 20U;
  Tier tier_ = Tier::Hostile;
};

TEST(Sandbox, ShowsWhatLiesInASystemFolderAnyway) {
  JobSpec spec;
  spec.command.argv = {"/usr/bin/env", "true"};
  spec.command.environment = Environment::bare();
  spec.limits.wall = std::chrono::seconds(10);
  spec.sandbox = SandboxSpec{.tier = Tier::Own, .read_only = {"/usr/bin/env", "/usr/share"}};
  const JobOutcome outcome = *run_job(spec);
  EXPECT_EQ(outcome.ending, Ending::Exited) << describe(outcome);
  EXPECT_EQ(outcome.code, 0) << describe(outcome);
}

TEST_F(Hostile, ForkBomb) {
  memory_ = std::uint64_t{512} << 20U;  // Processes cost the kernel memory: count them first.
  const JobOutcome outcome = attack("fork_bomb");
  EXPECT_EQ(outcome.ending, Ending::ProcessLimit) << describe(outcome);
  EXPECT_EQ(outcome.caught_by, Fence::Processes);
}

TEST_F(Hostile, MemoryHog) {
  const JobOutcome outcome = attack("memory_hog");
  EXPECT_EQ(outcome.ending, Ending::OutOfMemory) << describe(outcome);
  EXPECT_EQ(outcome.caught_by, Fence::Memory);
  EXPECT_LE(outcome.peak_memory, std::uint64_t{65} << 20U);
}

TEST_F(Hostile, SharedMemoryHog) {
  const JobOutcome outcome = attack("shm_hog");
  EXPECT_EQ(outcome.ending, Ending::OutOfMemory) << describe(outcome);
  EXPECT_EQ(outcome.caught_by, Fence::Memory);
}

TEST_F(Hostile, Daemon) {
  const JobOutcome outcome = attack("daemon", {}, Fence::PidNamespace);
  EXPECT_EQ(outcome.ending, Ending::Exited) << describe(outcome);
  EXPECT_EQ(outcome.stragglers, 1);
}

TEST_F(Hostile, ReaderOfShadow) {
  const JobOutcome outcome = attack("read_shadow", {}, Fence::MountNamespace);
  EXPECT_EQ(outcome.code, 10) << outcome.out;
}

TEST_F(Hostile, PtraceOfParent) {
  const JobOutcome outcome = attack("ptrace_parent");
  EXPECT_EQ(outcome.ending, Ending::ForbiddenCall) << describe(outcome) << outcome.out;
  EXPECT_EQ(outcome.caught_by, Fence::Seccomp);
  EXPECT_EQ(outcome.detail, "ptrace");
}

TEST_F(Hostile, ReaderOfParentsMemory) {
  const JobOutcome outcome =
      attack("parent_memory", {std::to_string(::getpid())}, Fence::PidNamespace);
  EXPECT_EQ(outcome.code, 10) << outcome.out;
}

TEST_F(Hostile, Network) {
  const Fd listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  ASSERT_TRUE(listener.is_open());
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  ASSERT_EQ(::bind(listener.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  ASSERT_EQ(::listen(listener.get(), 1), 0);
  socklen_t size = sizeof(address);
  ::getsockname(listener.get(), reinterpret_cast<sockaddr*>(&address), &size);
  const JobOutcome outcome =
      attack("network", {std::to_string(ntohs(address.sin_port))}, Fence::NetworkNamespace);
  EXPECT_EQ(outcome.code, 10) << outcome.out;
}

TEST_F(Hostile, Flood) {
  const JobOutcome outcome = attack("flood");
  EXPECT_EQ(outcome.ending, Ending::OutputLimit) << describe(outcome);
  EXPECT_EQ(outcome.out.size(), 1U << 20U);
}

TEST_F(Hostile, WriterOutside) {
  const TempFolder victim = *TempFolder::create("victim");
  ::chmod(victim.path().c_str(), 0777);
  const JobOutcome outcome =
      attack("write_outside", {(victim.path() / "file").string()}, Fence::MountNamespace);
  EXPECT_EQ(outcome.code, 10) << outcome.out;
  EXPECT_THAT(outcome.out, HasSubstr("refused: write outside"));
  EXPECT_TRUE(walk(victim.path())->empty());
}

TEST_F(Hostile, FillerOfTheDisk) {
  const JobOutcome outcome = attack("fill_tmp", {}, Fence::MountNamespace);
  // Its /tmp is small, and counted as its memory: whichever is used up first.
  EXPECT_TRUE(outcome.ending == Ending::OutOfMemory || outcome.code == 10) << describe(outcome);
}

TEST_F(Hostile, NewNamespace) {
  const JobOutcome outcome = attack("new_namespace");
  EXPECT_EQ(outcome.ending, Ending::ForbiddenCall) << describe(outcome) << outcome.out;
  EXPECT_EQ(outcome.detail, "unshare");
}

TEST_F(Hostile, EndlessLoopThatIgnoresSignals) {
  const JobOutcome outcome = attack("spin");
  EXPECT_EQ(outcome.ending, Ending::TimedOut) << describe(outcome);
  EXPECT_EQ(outcome.caught_by, Fence::WallClock);
}

TEST_F(Hostile, InheritedDescriptor) {
  const Fd leak(::open("/etc/hostname", O_RDONLY));  // without close-on-exec, as a library might
  const JobOutcome outcome = attack("inherited_fd");
  EXPECT_EQ(outcome.code, 10) << outcome.out;
}

TEST_F(Hostile, OwnTierRefusesWithoutEndingTheJob) {
  tier_ = Tier::Own;
  const JobOutcome outcome = attack("ptrace_parent");
  EXPECT_EQ(outcome.ending, Ending::Exited) << describe(outcome);
  EXPECT_EQ(outcome.code, 10);
  EXPECT_THAT(outcome.denied, testing::ElementsAre("ptrace"));
}

TEST_F(Hostile, EveryForbiddenCallIsRefusedAndNamed) {
  tier_ = Tier::Own;  // A hostile job would end with the first.
  const JobOutcome outcome = attack("forbidden_calls", {}, Fence::Seccomp);
  EXPECT_EQ(outcome.ending, Ending::Exited) << describe(outcome);
  EXPECT_EQ(outcome.out, "");
  EXPECT_EQ(outcome.denied.size(), 43U + 5U + 1U) << testing::PrintToString(outcome.denied);
  EXPECT_EQ(std::ranges::count(outcome.denied, "clone"), 5);
  EXPECT_THAT(outcome.denied, testing::IsSupersetOf({"ptrace", "mount", "bpf", "reboot", "ioctl"}));
}

/// Runs tests/hostile/system/nested.cc in a sandbox of the own tier.
JobOutcome run_nested(const std::string& tier) {
  JobSpec spec;
  spec.command.argv = {std::string(CUCO_BIN_DIR) + "/hostile_nested", tier};
  spec.command.environment = Environment::bare();
  // A sanitized build looks for leaks by ptrace, which the outer sandbox refuses.
  spec.command.environment.set("ASAN_OPTIONS", "detect_leaks=0");
  spec.limits.wall = milliseconds(10'000);
  spec.sandbox = SandboxSpec{.tier = Tier::Own, .read_only = {CUCO_BIN_DIR}};
  return *run_job(spec);
}

TEST_F(Hostile, MissingFenceStopsAHostileJob) {
  const JobOutcome outcome = run_nested("hostile");
  EXPECT_THAT(outcome.out, HasSubstr("not started: pid namespace is missing on this machine"));
  EXPECT_THAT(outcome.out, testing::Not(HasSubstr("ran"))) << outcome.out << outcome.err;
}

TEST_F(Hostile, MissingFencesAreListedForAnOwnJob) {
  const JobOutcome outcome = run_nested("own");
  EXPECT_THAT(outcome.out, testing::StartsWith("ran\nexited with 0\n")) << outcome.err;
  for (const Fence fence : {Fence::PidNamespace, Fence::MountNamespace, Fence::NetworkNamespace,
                            Fence::Memory, Fence::Unprivileged}) {
    EXPECT_THAT(outcome.out, HasSubstr("missing: " + std::string(name_of(fence))));
  }
}

}  // namespace
}  // namespace cuco::system
