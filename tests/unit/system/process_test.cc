// SPDX-License-Identifier: Apache-2.0
#include "system/jobs/process.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "system/jobs/job_codec.h"
#include "system/os/socket.h"
#include "system/os/streams.h"

namespace cuco::system {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;

JobSpec shell(const std::string& script) {
  JobSpec spec;
  spec.command.argv = {"sh", "-c", script};
  spec.command.environment = Environment::bare();
  spec.limits.wall = milliseconds(10'000);
  return spec;
}

bool is_alive(pid_t pid) {
  return ::kill(pid, 0) == 0;
}

pid_t number(std::string_view text) {
  pid_t value = -1;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

TEST(Process, CollectsOutputAndExitCode) {
  const JobOutcome outcome = *run_job(shell("echo out; echo err >&2; exit 3"));
  EXPECT_EQ(outcome.ending, Ending::Exited) << describe(outcome);
  EXPECT_EQ(outcome.code, 3);
  EXPECT_EQ(outcome.out, "out\n");
  EXPECT_EQ(outcome.err, "err\n");
  EXPECT_FALSE(outcome.truncated);
  EXPECT_GT(outcome.peak_memory, 100'000U);
}

TEST(Process, FeedsInputLongerThanAPipe) {
  JobSpec spec = shell("wc -c");
  spec.command.input.assign(1'000'000, 'x');
  EXPECT_EQ(run_job(spec)->out, "1000000\n");
}

TEST(Process, InputThatNobodyReadsIsNoError) {
  JobSpec spec = shell("exit 0");
  spec.command.input.assign(1'000'000, 'x');
  EXPECT_TRUE(run_job(spec)->succeeded());
}

TEST(Process, SignalsAreNamed) {
  const JobOutcome outcome = *run_job(shell("kill -SEGV $$"));
  EXPECT_EQ(outcome.ending, Ending::Signalled);
  EXPECT_EQ(outcome.code, SIGSEGV);
  EXPECT_EQ(describe(outcome), "killed by SIGSEGV");
}

TEST(Process, MissingProgramIsNotStarted) {
  JobSpec spec = shell("");
  spec.command.argv = {"/nonexistent/program"};
  const JobOutcome outcome = *run_job(spec);
  EXPECT_EQ(outcome.ending, Ending::NotStarted);
  EXPECT_THAT(outcome.detail, HasSubstr("/nonexistent/program"));
}

TEST(Process, DeadlineEndsIt) {
  JobSpec spec = shell("echo started; sleep 60");
  spec.limits.wall = milliseconds(200);
  const JobOutcome outcome = *run_job(spec);
  EXPECT_EQ(outcome.ending, Ending::TimedOut);
  EXPECT_EQ(outcome.caught_by, Fence::WallClock);
  EXPECT_EQ(outcome.out, "started\n");
  EXPECT_LT(outcome.wall, std::chrono::seconds(5));
}

TEST(Process, OutputIsCutOrEndsTheJob) {
  JobSpec spec = shell("yes | head -c 100000; exit 0");
  spec.limits.output = 1000;
  JobOutcome outcome = *run_job(spec);
  EXPECT_TRUE(outcome.succeeded()) << describe(outcome);
  EXPECT_TRUE(outcome.truncated);
  EXPECT_EQ(outcome.out.size(), 1000U);
  spec = shell("yes");
  spec.limits.output = 1000;
  spec.limits.output_ends_job = true;
  outcome = *run_job(spec);
  EXPECT_EQ(outcome.ending, Ending::OutputLimit);
  EXPECT_EQ(outcome.out.size(), 1000U);
}

TEST(Process, DaemonsDieToo) {
  const JobOutcome outcome =
      *run_job(shell("setsid sh -c 'sleep 60 >/dev/null 2>&1 & echo $!' & wait; exit 0"));
  EXPECT_TRUE(outcome.succeeded()) << describe(outcome);
  EXPECT_EQ(outcome.stragglers, 1);
  const pid_t daemon = number(outcome.out);
  ASSERT_GT(daemon, 0) << outcome.out;
  EXPECT_FALSE(is_alive(daemon));
}

TEST(Process, DestructionEndsTheTree) {
  auto [mine, theirs] = *socket_pair(SocketKind::Stream);
  JobSpec spec = shell("sleep 60 & echo $! >&5; wait");
  spec.command.fds = {{theirs.get(), 5}};
  pid_t sleeper = -1;
  {
    const Process process = *Process::start(spec);
    std::array<std::byte, 32> buffer{};
    const Received received = *receive_with_fds(mine, buffer);
    sleeper = number({reinterpret_cast<const char*>(buffer.data()), received.bytes});
    ASSERT_TRUE(is_alive(sleeper));
  }
  EXPECT_FALSE(is_alive(sleeper));
}

TEST(Process, KillGivesACancelledOutcome) {
  auto [mine, theirs] = *socket_pair(SocketKind::Stream);
  JobSpec spec = shell("echo begun; echo ready >&5; sleep 60");
  spec.command.fds = {{theirs.get(), 5}};
  Process process = *Process::start(spec);
  ASSERT_TRUE(*wait_readable(mine.get(), milliseconds(10'000)));
  EXPECT_FALSE(process.wait(milliseconds(1))->has_value());
  process.kill();
  const auto outcome = *process.wait();
  ASSERT_TRUE(outcome.has_value());
  EXPECT_EQ(outcome->ending, Ending::Cancelled);
  EXPECT_EQ(outcome->out, "begun\n");
}

TEST(Process, SeesOnlyItsEnvironmentAndDescriptors) {
  // Without close-on-exec on purpose: it must not get through all the same.
  const Fd leak(::open("/etc/hostname", O_RDONLY));
  ASSERT_TRUE(leak.is_open());
  const JobOutcome outcome =
      *run_job(shell("env | cut -d= -f1 | sort | tr '\\n' ' '; ls /proc/self/fd | wc -l"));
  // PWD, SHLVL and _ are the shell's own; 4 descriptors: stdio and the listing itself.
  EXPECT_EQ(outcome.out, "HOME LANG PATH PWD TMPDIR 4\n");
}

TEST(Process, CpuAndFileSizeLimits) {
  JobSpec spec = shell("while :; do :; done");
  spec.limits.cpu = std::chrono::seconds(1);
  spec.limits.wall = milliseconds(120'000);  // a busy machine takes its time to use a second
  EXPECT_EQ(run_job(spec)->ending, Ending::CpuLimit);
  const TempFolder folder = *TempFolder::create();
  spec = shell("exec head -c 100000 /dev/zero > big");
  spec.command.folder = folder.path();
  spec.limits.file_size = 4096;
  EXPECT_EQ(run_job(spec)->ending, Ending::FileLimit);
}

TEST(Process, TellsTheProcessorTimeOfAllBelow) {
  JobSpec spec =
      shell("i=0; while [ $i -lt 30000 ]; do i=$((i+1)); done & wait; echo done; sleep 60");
  spec.limits.wall = milliseconds(120'000);
  const Process process = *Process::start(spec);
  std::chrono::nanoseconds used{};
  for (int i = 0; i < 2000 && used < milliseconds(10); ++i) {
    std::this_thread::sleep_for(milliseconds(5));
    used = process.cpu_time();
  }
  EXPECT_GE(used, milliseconds(10));
  EXPECT_EQ(cpu_time_below(::getpid() + 1'000'000), std::chrono::nanoseconds(0));
}

TEST(Process, TellsHowLongItGotNoProcessor) {
  const auto starved_after = [](const char* script) {
    JobSpec spec = shell(script);
    spec.limits.wall = milliseconds(120'000);
    const Process process = *Process::start(spec);
    std::chrono::nanoseconds starved{};
    for (int i = 0; i < 400 && starved < milliseconds(100); ++i) {
      std::this_thread::sleep_for(milliseconds(5));
      starved = process.starved_time();
    }
    return starved;
  };
  // Two that want the same processor: one of them always waits. Nobody waits while asleep.
  EXPECT_GE(starved_after(
                "loop='while :; do :; done'; cpu=$(taskset -cp $$ | sed 's/.*: //; s/[-,].*//'); "
                "taskset -c $cpu sh -c \"$loop\" & taskset -c $cpu sh -c \"$loop\""),
            milliseconds(100));
  EXPECT_LT(starved_after("sleep 60"), milliseconds(100));
}

TEST(Process, ManyAtOnce) {
  std::vector<Process> processes;
  for (int i = 0; i < 8; ++i)
    processes.push_back(*Process::start(shell("echo " + std::to_string(i))));
  for (int i = 0; i < 8; ++i) {
    const auto outcome = *processes[static_cast<std::size_t>(i)].wait();
    EXPECT_EQ(outcome->out, std::to_string(i) + "\n");
  }
}

TEST(JobCodec, SpecSurvivesTheWire) {
  JobSpec spec = shell("x");
  spec.command.argv.emplace_back("\xff\x80 bytes \xc3\xa4");
  spec.command.fds = {{7, 3}};
  spec.limits.memory = std::uint64_t{1} << 40U;
  spec.sandbox = SandboxSpec{.tier = Tier::Own,
                             .system_paths = false,
                             .read_only = {"/a"},
                             .writable = {"/b", "/c"},
                             .devices = {"/dev/d"}};
  const JobSpec copy = *decode_spec(encode(spec));
  EXPECT_EQ(copy.command.argv, spec.command.argv);
  EXPECT_EQ(copy.command.environment, spec.command.environment);
  EXPECT_EQ(copy.command.fds.at(0).theirs, 3);
  EXPECT_EQ(copy.limits.memory, spec.limits.memory);
  EXPECT_EQ(copy.limits.wall, spec.limits.wall);
  EXPECT_EQ(copy.sandbox->writable, spec.sandbox->writable);
  EXPECT_EQ(copy.sandbox->tier, Tier::Own);
  EXPECT_EQ(decode_spec("{}").error().kind(), ErrorKind::Protocol);
}

}  // namespace
}  // namespace cuco::system
