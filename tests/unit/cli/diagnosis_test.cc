// SPDX-License-Identifier: Apache-2.0
#include "cli/doctor/diagnosis.h"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cuco::cli {
namespace {

using ::testing::HasSubstr;
using State = Finding::State;

/// A machine as the README has in mind: everything but a GPU.
Machine usual_machine() {
  return {
      .cores = 2,
      .memory_bytes = 8ULL << 30U,
      .cpu_features = {{"AVX2", true}, {"FMA", true}, {"F16C", true}},
      .nvcc = Tool{"/cuda/bin/nvcc", "13.0.88"},
      .nccl =
          NcclHeaders{
              .folder = "/cuda/include", .major = 2, .minor = 28, .patch = 9, .device_api = true},
      .mpi = Tool{"/usr/bin/mpirun", "Open MPI 4.1.4"},
      .has_virtual_cluster = true};
}

Finding finding_about(const Machine& machine, std::string_view topic) {
  const Diagnosis diagnosis = diagnose(machine, "auto");
  const auto found = std::ranges::find(diagnosis.findings, topic, &Finding::topic);
  return found == diagnosis.findings.end() ? Finding{} : *found;
}

TEST(Diagnose, AMachineWithoutAGpuUsesTheVirtualTarget) {
  const Diagnosis diagnosis = diagnose(usual_machine(), "auto");
  EXPECT_EQ(diagnosis.default_target, "virtual");
  const Finding gpus = finding_about(usual_machine(), "GPUs");
  EXPECT_EQ(gpus.state, State::Absent);
  EXPECT_EQ(gpus.found, "none");
}

TEST(Diagnose, NamesGpusWithMemoryDriverMpsAndGreenContexts) {
  Machine machine = usual_machine();
  machine.driver =
      targets::DriverFacts{.version = "13.0",
                           .gpus = {{"NVIDIA H200", 141ULL << 30U}, {"NVIDIA H200", 141ULL << 30U}},
                           .green_contexts = true};
  const Finding gpus = finding_about(machine, "GPUs");
  EXPECT_EQ(gpus.state, State::Good);
  EXPECT_EQ(gpus.found,
            "2 × NVIDIA H200, 141 GiB, driver for CUDA 13.0, MPS off, green contexts yes");
}

TEST(Diagnose, WithoutNvccNamesTheVersionNeeded) {
  Machine machine = usual_machine();
  machine.nvcc.reset();
  const Finding compiler = finding_about(machine, "compiler");
  EXPECT_EQ(compiler.state, State::Absent);
  EXPECT_THAT(compiler.advice, HasSubstr("CUDA toolkit 13.0"));
  EXPECT_EQ(diagnose(machine, "auto").default_target, "virtual");
}

TEST(Diagnose, OldToolsAreBadNotGood) {
  Machine machine = usual_machine();
  machine.nvcc->version = "12.4.131";
  machine.nccl->patch = 3;
  EXPECT_EQ(finding_about(machine, "compiler").state, State::Bad);
  EXPECT_EQ(finding_about(machine, "NCCL").state, State::Bad);
}

TEST(Diagnose, WithoutTheInstructionsThereIsNoVirtualTarget) {
  Machine machine = usual_machine();
  machine.cpu_features[2].second = false;
  EXPECT_EQ(diagnose(machine, "auto").default_target, "");
  EXPECT_THAT(finding_about(machine, "CPU").advice, HasSubstr("F16C"));
}

TEST(Diagnose, AWantedTargetThatIsNotUsableIsNotReplaced) {
  EXPECT_EQ(diagnose(usual_machine(), "loopback").default_target, "");
}

TargetState target_of(const Machine& machine, std::string_view name) {
  const Diagnosis diagnosis = diagnose(machine, "auto");
  return *std::ranges::find(diagnosis.targets, name, &TargetState::name);
}

TEST(Diagnose, LoopbackSaysWhatItLacks) {
  Machine machine = usual_machine();
  EXPECT_FALSE(target_of(machine, "loopback").usable);
  EXPECT_THAT(target_of(machine, "loopback").reason, HasSubstr("no NVIDIA driver"));
  machine.driver = targets::DriverFacts{.version = "13.0", .green_contexts = true};
  machine.driver->gpus.push_back({.name = "NVIDIA H200", .multiprocessors = 132});
  EXPECT_THAT(target_of(machine, "loopback").reason, HasSubstr("libnccl.so.2"));
  machine.has_loopback = true;
  EXPECT_TRUE(target_of(machine, "loopback").usable);
  EXPECT_THAT(target_of(machine, "loopback").reason, HasSubstr("nvidia-cuda-mps-control"));
  machine.has_mps = true;
  EXPECT_EQ(target_of(machine, "loopback").reason, "");
  machine.nvcc.reset();
  EXPECT_THAT(target_of(machine, "loopback").reason, HasSubstr("already built"));
}

TEST(Diagnose, AClusterNeedsMpiAndAWordOnItsGpus) {
  Machine machine = usual_machine();
  EXPECT_TRUE(target_of(machine, "cluster").usable);
  EXPECT_THAT(target_of(machine, "cluster").reason, HasSubstr("--topology"));
  machine.mpi.reset();
  EXPECT_FALSE(target_of(machine, "cluster").usable);
  EXPECT_THAT(target_of(machine, "cluster").reason, HasSubstr("mpirun"));
}

TEST(Diagnose, EverythingThatIsMissingComesWithAdvice) {
  for (const Finding& finding : diagnose(Machine{}, "auto").findings) {
    if (finding.state != State::Good) {
      EXPECT_FALSE(finding.advice.empty()) << finding.topic;
    }
  }
}

TEST(ParseNcclHeader, ReadsTheVersion) {
  const auto headers = parse_nccl_header(
      "#define NCCL_MAJOR 2\n#define NCCL_MINOR 28\n#define NCCL_PATCH 9\n#define NCCL_SUFFIX "
      "\"\"\n");
  ASSERT_TRUE(headers);
  EXPECT_EQ(headers->minor, 28);
  EXPECT_FALSE(parse_nccl_header("nothing of the kind"));
}

}  // namespace
}  // namespace cuco::cli
