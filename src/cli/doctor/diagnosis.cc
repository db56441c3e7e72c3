// SPDX-License-Identifier: Apache-2.0
#include "cli/doctor/diagnosis.h"

#include <algorithm>
#include <tuple>

#include <fmt/format.h>

#include "base/text.h"
#include "targets/real/real_needs.h"

namespace cuco::cli {
namespace {

using State = Finding::State;

constexpr std::string_view kCudaAdvice =
    "install the CUDA toolkit 13.0, then put nvcc on PATH or set CUDA_HOME";

Finding compiler(const Machine& machine) {
  if (!machine.nvcc) {
    // A variable that names the wrong folder is more worth knowing than how to install CUDA.
    const bool misled = machine.no_cuda.starts_with("CUDA_");
    return {"compiler", "no nvcc", State::Absent,
            fmt::format("programs cannot be compiled: {}", misled ? machine.no_cuda : kCudaAdvice)};
  }
  Finding finding{"compiler", fmt::format("nvcc {}", machine.nvcc->version)};
  if (!machine.nvcc->version.starts_with("13.")) {
    finding.state = State::Bad;
    finding.advice = fmt::format("cuco needs CUDA 13.0: {}", kCudaAdvice);
  }
  return finding;
}

Finding nccl(const Machine& machine) {
  if (!machine.nccl) {
    return {
        "NCCL", "no headers", State::Absent,
        "copy nccl.h and nccl_device.h of NCCL 2.28.9 or newer into the toolkit's include folder"};
  }
  const NcclHeaders& headers = *machine.nccl;
  Finding finding{"NCCL", fmt::format("{}.{}.{}{}", headers.major, headers.minor, headers.patch,
                                      headers.device_api ? ", device API" : ", no device API")};
  if (std::tie(headers.major, headers.minor, headers.patch) < std::make_tuple(2, 28, 9) ||
      !headers.device_api) {
    finding.state = State::Bad;
    finding.advice = "install the headers of NCCL 2.28.9 or newer";
  }
  return finding;
}

Finding gpus(const Machine& machine) {
  if (!machine.driver || machine.driver->gpus.empty()) {
    return {"GPUs",
            machine.driver ? fmt::format("none (driver {})", machine.driver->version) : "none",
            State::Absent, "times are predicted; the gpu and loopback targets need one"};
  }
  const targets::DriverFacts& driver = *machine.driver;
  const targets::GpuFacts& first = driver.gpus.front();
  const bool alike = std::ranges::all_of(
      driver.gpus, [&](const targets::GpuFacts& gpu) { return gpu.name == first.name; });
  return {"GPUs", fmt::format("{} × {}{}, {}, driver for CUDA {}, MPS {}, green contexts {}",
                              driver.gpus.size(), first.name, alike ? "" : " and others",
                              human_bytes(static_cast<double>(first.memory_bytes)), driver.version,
                              driver.mps ? "on" : "off", driver.green_contexts ? "yes" : "no")};
}

Finding processor(const Machine& machine) {
  Finding finding{"CPU", fmt::format("{} cores, {}", machine.cores,
                                     human_bytes(static_cast<double>(machine.memory_bytes)))};
  std::string missing;
  for (const auto& [name, there] : machine.cpu_features) {
    (there ? finding.found : missing) += (there ? " " : missing.empty() ? "" : " ") + name;
  }
  if (!missing.empty()) {
    finding.state = State::Bad;
    finding.advice = fmt::format("the virtual GPU needs {}", missing);
  }
  return finding;
}

Finding mpi(const Machine& machine) {
  if (machine.mpi) return {"MPI", machine.mpi->version};
  return {"MPI", "not found", State::Absent,
          "needed for MPI programs: apt-get install openmpi-bin libopenmpi-dev"};
}

Finding slurm(const Machine& machine) {
  if (machine.slurm) return {"Slurm", machine.slurm->version};
  return {"Slurm", "not found", State::Absent,
          "needed only for several machines: apt-get install slurm-wlm"};
}

Finding models(const Machine& machine) {
  if (machine.model.name.empty()) {
    return {
        "models", "none configured", State::Absent,
        "the built-in expert proposes; to add a model, set llm.model (services: cuco llm list), or "
        "search.proposer to command:PROGRAM"};
  }
  if (!machine.model.problem.empty()) {
    return {"models", machine.model.name, State::Bad, machine.model.problem};
  }
  return {"models", machine.model.name};
}

constexpr std::string_view kOnlyBuilt = "only for programs that are already built";

TargetState virtual_target(const Machine& machine) {
  if (std::ranges::any_of(machine.cpu_features, [](const auto& f) { return !f.second; })) {
    return {"virtual", false, "the CPU lacks required instructions"};
  }
  if (!machine.has_virtual_cluster) {
    return {"virtual", false, "incomplete installation: server or libraries not found"};
  }
  return {"virtual", true, machine.nvcc ? "" : std::string(kOnlyBuilt)};
}

targets::RealFacts real_facts(const Machine& machine) {
  return {.driver = machine.driver,
          .nvcc = machine.nvcc.has_value(),
          .mpirun = machine.mpi.has_value(),
          .mps_control = machine.has_mps,
          .loopback_library = machine.has_loopback};
}

/// Ranks as threads; MPI programs need more.
TargetState loopback_target(const Machine& machine) {
  const targets::RealFacts facts = real_facts(machine);
  const targets::RealWish threads{.builds = false};
  if (std::string why = targets::missing_for_loopback(facts, threads); !why.empty())
    return {"loopback", false, std::move(why)};
  const targets::RealWish processes{.builds = false, .uses_mpi = true, .ranks = 2};
  if (std::string why = targets::missing_for_loopback(facts, processes); !why.empty())
    return {"loopback", true, std::move(why)};
  return {"loopback", true, machine.nvcc ? "" : std::string(kOnlyBuilt)};
}

TargetState cluster_target(const Machine& machine) {
  const targets::RealWish wish{.builds = false, .uses_mpi = true, .knows_gpu = true};
  std::string why = targets::missing_for_cluster(real_facts(machine), wish);
  if (!why.empty()) return {"cluster", false, std::move(why)};
  // The GPUs are other machines'.
  return {"cluster", true, machine.driver ? "" : "--topology has to say which GPUs it has"};
}

}  // namespace

Diagnosis diagnose(const Machine& machine, std::string_view wanted_target) {
  Diagnosis diagnosis;
  diagnosis.findings = {compiler(machine), nccl(machine),   gpus(machine), processor(machine),
                        mpi(machine),      models(machine), slurm(machine)};
  diagnosis.targets = {virtual_target(machine), loopback_target(machine), cluster_target(machine)};
  for (const TargetState& target : diagnosis.targets) {
    // Real GPUs are used when they are asked for: others may be at work on them.
    const bool wanted = target.name == (wanted_target == "auto" ? "virtual" : wanted_target);
    if (target.usable && wanted && diagnosis.default_target.empty()) {
      diagnosis.default_target = target.name;
    }
  }
  return diagnosis;
}

}  // namespace cuco::cli
