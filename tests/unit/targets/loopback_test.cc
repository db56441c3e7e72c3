// SPDX-License-Identifier: Apache-2.0
#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "targets/loopback/loopback_report.h"
#include "targets/loopback/loopback_run.h"
#include "targets/loopback/mps_daemon.h"
#include "targets/loopback/network_file.h"
#include "targets/loopback/network_process.h"

namespace cuco::targets {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

const LoopbackPlaces kPlaces{
    .libraries = "/cuco/lib/loopback", .cuda_runtime = "/cuda/lib64", .work = "/tmp/work"};

TEST(NetworkText, HasRatesOfAProgramsOwnBytes) {
  fabric::Topology topology = fabric::single_node(4);
  topology.name = "four";
  topology.load_store = {.gigabytes_per_second = 400, .latency = 700'000, .efficiency = 0.5};
  topology.nic = fabric::Link{.gigabytes_per_second = 50, .latency = 2'500'000, .message_gap = 7};
  topology.gin.post = 11;
  const std::string text = network_text(topology);
  EXPECT_THAT(text, HasSubstr("name=four\nnodes=1\ngpus_per_node=4\ndomain=node\n"));
  EXPECT_THAT(text, HasSubstr("load_store_bytes_per_s=200000000000\n"));
  EXPECT_THAT(text, HasSubstr("nic=1\nnic_bytes_per_s=50000000000\nnic_latency_ps=2500000\n"));
  EXPECT_THAT(text, HasSubstr("nic_gap_ps=7\ngin_post_ps=11\n"));
}

TEST(NetworkText, WithoutANicNamesNone) {
  fabric::Topology topology = fabric::single_node(2);
  topology.nic.reset();
  EXPECT_THAT(network_text(topology), HasSubstr("nic=0\n"));
  EXPECT_THAT(network_text(topology), Not(HasSubstr("nic_")));
}

TEST(LoopbackStart, ThreadsAreOneProcessWithOurLibrariesFirst) {
  system::Environment own;
  own.set("LD_LIBRARY_PATH", "/home/lib").set("LD_PRELOAD", "/home/x.so");
  const LoopbackOptions options{.ranks = 4, .watchdog_seconds = 60};
  const RealStart start = loopback_start(options, kPlaces, {"/bin/prog", "-n", "3"}, own);
  EXPECT_THAT(start.argv, ElementsAre("/bin/prog", "-n", "3"));
  const auto get = [&](const char* name) { return start.environment.get(name).value_or("?"); };
  EXPECT_EQ(get("LD_LIBRARY_PATH"), "/cuco/lib/loopback:/cuda/lib64:/home/lib");
  EXPECT_EQ(get("LD_PRELOAD"), "/cuco/lib/loopback/libcuco_loopback_preload.so:/home/x.so");
  EXPECT_EQ(get("CUCO_LOOPBACK_RANKS"), "4");
  EXPECT_EQ(get("CUCO_LOOPBACK_TOPOLOGY"), "");
  EXPECT_EQ(get("CUCO_LOOPBACK_WATCHDOG"), "60");
  EXPECT_EQ(get("CUDA_MODULE_LOADING"), "EAGER");
}

TEST(LoopbackStart, ProcessesShareTheConnectionsAndOnlyTheyArePreloaded) {
  LoopbackOptions options{.ranks = 4, .uses_mpi = true, .delay_us = 5};
  options.network = fabric::single_node(4);
  const RealStart start = loopback_start(options, kPlaces, {"/bin/prog"}, {});
  EXPECT_EQ(start.argv.front(), "mpirun");
  EXPECT_EQ(start.argv.back(), "/bin/prog");
  EXPECT_THAT(start.argv, ::testing::Contains(HasSubstr("LD_PRELOAD=/cuco/lib/loopback")));
  EXPECT_FALSE(start.environment.get("LD_PRELOAD"));
  EXPECT_EQ(start.environment.get("CUDA_DEVICE_MAX_CONNECTIONS"), "8");
  EXPECT_EQ(start.environment.get("CUCO_LOOPBACK_DIR"), "/tmp/work");
  EXPECT_EQ(start.environment.get("CUCO_LOOPBACK_TOPOLOGY"), "/tmp/work/network");
  EXPECT_EQ(start.environment.get("CUCO_LOOPBACK_DELAY_US"), "5");
}

TEST(LoopbackStart, AToolStandsBetweenMpirunAndTheProgram) {
  LoopbackOptions options{.ranks = 2,
                          .tool = {"/cuda/bin/compute-sanitizer", "--tool", "memcheck"}};
  RealStart start = loopback_start(options, kPlaces, {"/bin/prog"}, {});
  EXPECT_THAT(start.argv,
              ElementsAre("/cuda/bin/compute-sanitizer", "--tool", "memcheck", "/bin/prog"));
  options.uses_mpi = true;
  start = loopback_start(options, kPlaces, {"/bin/prog"}, {});
  EXPECT_EQ(start.argv.front(), "mpirun");
  EXPECT_EQ(start.argv[start.argv.size() - 4], "/cuda/bin/compute-sanitizer");
}

TEST(LoopbackReport, AddsUpRanksAndWeighsTheErrorByTransfers) {
  const LoopbackReport report = parse_loopback_report(
      R"({"rank":1,"puts":2,"put_bytes":100,"seconds":0.5,"pacing":{"transfers":3,"mean_error":0.02,"worst_error":0.1,"mean_off_us":4}}
{"rank":0,"puts":1,"put_bytes":50,"collective_bytes":7,"seconds":0.75,"pacing":{"transfers":1,"mean_error":0.06,"worst_error":0.2}}
{"rank":2,"pacing":null}
)");
  ASSERT_EQ(report.ranks.size(), 3U);
  EXPECT_EQ(report.ranks.front().rank, 0);
  EXPECT_EQ(report.puts(), 3U);
  EXPECT_EQ(report.put_bytes(), 150U);
  EXPECT_EQ(report.collective_bytes(), 7U);
  EXPECT_DOUBLE_EQ(report.seconds(), 0.75);
  ASSERT_TRUE(report.pacing_error());
  EXPECT_DOUBLE_EQ(report.pacing_error()->mean, 0.03);
  EXPECT_DOUBLE_EQ(report.pacing_error()->worst, 0.2);
  EXPECT_DOUBLE_EQ(report.pacing_error()->mean_off_us, 3);
  EXPECT_EQ(report.unreadable, 0);
}

TEST(LoopbackReport, SaysWhoWaitsForWhatAndCountsWhatMakesNoSense) {
  const LoopbackReport report = parse_loopback_report(
      "{\"finding\":\"watchdog\",\"rank\":1,\"waits\":\"signal 3 of rank 0\"}\nnothing\n"
      "{\"rank\":\"x\"}\n[1]\n{\"finding\":\"unsupported\",\"text\":\"multimem\"}\n");
  EXPECT_THAT(report.findings, ElementsAre("rank 1 waits for signal 3 of rank 0", "multimem"));
  EXPECT_EQ(report.unreadable, 3);
  EXPECT_FALSE(report.pacing_error());
}

TEST(Pacing, LoadsAndStoresEvadeTheNetworkAndAreNotCompared) {
  LoopbackReport puts;
  puts.ranks = {{.rank = 0}};
  LoopbackReport stores = puts;
  stores.ranks.front().uses_lsa = true;
  EXPECT_EQ(pacing_of(puts, true), Pacing::Whole);
  EXPECT_EQ(pacing_of(stores, true), Pacing::Partly);
  EXPECT_EQ(pacing_of(stores, false), Pacing::None);
  EXPECT_THAT(why_not_comparable(Pacing::Whole, Pacing::Partly), HasSubstr("--on virtual"));
  EXPECT_THAT(why_not_comparable(Pacing::None, Pacing::Whole), HasSubstr("unpaced"));
  EXPECT_THAT(why_not_comparable(Pacing::Partly, Pacing::Partly), IsEmpty());
}

/// Stands in for nvidia-cuda-mps-control: takes clients, and ends when told to.
system::Path write_control(const system::TempFolder& folder, const std::string& start) {
  const system::Path file = folder.path() / "control";
  const std::string text =
      "#!/bin/sh\nif [ \"$1\" = -f ]; then\n" + start + "\nfi\nread word rest\necho $word > " +
      (folder.path() / "told").string() + "\n: > " + (folder.path() / "quit").string() + "\n";
  EXPECT_TRUE(system::write_file(file, text, 0755));
  return file;
}

TEST(MpsDaemon, TakesClientsUntilItIsToldToQuit) {
  auto folder = system::TempFolder::create("mps-test");
  ASSERT_TRUE(folder);
  const std::string quit = (folder->path() / "quit").string();
  const system::Path control =
      write_control(*folder, ": > $CUDA_MPS_PIPE_DIRECTORY/control\nwhile [ ! -e " + quit +
                                 " ]; do sleep 0.01; done\nexit 0");
  system::Path pipes;
  {
    auto daemon = MpsDaemon::start(control, system::Environment::current());
    ASSERT_TRUE(daemon) << daemon.error().message();
    system::Environment client;
    (*daemon)->add_to(&client);
    pipes = client.get("CUDA_MPS_PIPE_DIRECTORY").value_or("");
    EXPECT_TRUE(std::filesystem::exists(pipes / "control"));
  }
  const auto told = system::read_file(folder->path() / "told");
  ASSERT_TRUE(told);
  EXPECT_EQ(*told, "quit\n");
  EXPECT_FALSE(std::filesystem::exists(pipes));
}

TEST(NetworkProcess, EndsWithItsInputAndWhatItSaidIsKept) {
  auto folder = system::TempFolder::create("network-test");
  ASSERT_TRUE(folder);
  const system::Path program = folder->path() / "network";
  ASSERT_TRUE(system::write_file(
      program, "#!/bin/sh\n: > $WHERE\nread nothing\necho 'input ended' >&2\n", 0755));
  auto environment = system::Environment::current();
  const system::Path socket = folder->path() / "socket";
  environment.set("WHERE", socket.string());
  auto network = NetworkProcess::start(program, socket, environment);
  ASSERT_TRUE(network) << network.error().message();
  EXPECT_EQ((*network)->end(), "input ended\n");
}

TEST(NetworkProcess, OneThatDoesNotStartSaysWhy) {
  auto folder = system::TempFolder::create("network-test");
  ASSERT_TRUE(folder);
  const system::Path program = folder->path() / "network";
  ASSERT_TRUE(system::write_file(program, "#!/bin/sh\necho 'no GPU' >&2\nexit 3\n", 0755));
  const auto network =
      NetworkProcess::start(program, folder->path() / "socket", system::Environment::current());
  ASSERT_FALSE(network);
  EXPECT_THAT(network.error().message(), HasSubstr("no GPU"));
}

TEST(MpsDaemon, OneThatDoesNotStartSaysWhy) {
  auto folder = system::TempFolder::create("mps-test");
  ASSERT_TRUE(folder);
  const system::Path control = write_control(*folder, "echo 'no GPU' >&2\nexit 1");
  const auto daemon = MpsDaemon::start(control, system::Environment::current());
  ASSERT_FALSE(daemon);
  EXPECT_THAT(daemon.error().message(), HasSubstr("no GPU"));
}

}  // namespace
}  // namespace cuco::targets
