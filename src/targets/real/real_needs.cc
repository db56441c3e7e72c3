// SPDX-License-Identifier: Apache-2.0
#include "targets/real/real_needs.h"

#include <fmt/format.h>

#include "toolchain/cuda_toolkit.h"

namespace cuco::targets {
namespace {

constexpr std::string_view kInstead = "use --on virtual, which predicts times";

std::string missing_gpu(const RealFacts& facts) {
  if (!facts.driver)
    return fmt::format("this machine has no NVIDIA driver that starts; {}", kInstead);
  if (facts.driver->gpus.empty())
    return fmt::format("the NVIDIA driver finds no GPU that may be used; {}", kInstead);
  return {};
}

std::string missing_tools(const RealFacts& facts, const RealWish& wish) {
  if (wish.builds && !facts.nvcc) {
    return "there is no nvcc to build the program with: install the CUDA toolkit 13.0, or give a "
           "built program";
  }
  if (wish.uses_mpi && !facts.mpirun) {
    return "MPI programs need mpirun, which is not in PATH: apt-get install openmpi-bin "
           "libopenmpi-dev";
  }
  return {};
}

}  // namespace

RealFacts inspect_real(const system::Environment& environment) {
  const std::string path = environment.get("PATH").value_or("");
  return {.driver = inspect_driver(),
          .nvcc = toolchain::find_cuda(environment).has_value(),
          .mpirun = system::find_program("mpirun", path).has_value(),
          .mps_control = find_mps_control(environment).has_value(),
          .loopback_library = find_loopback_folder().has_value()};
}

std::string missing_for_gpus(const RealFacts& facts, const RealWish& wish) {
  if (std::string why = missing_gpu(facts); !why.empty()) return why;
  return missing_tools(facts, wish);
}

std::string missing_for_loopback(const RealFacts& facts, const RealWish& wish) {
  if (std::string why = missing_gpu(facts); !why.empty()) return why;
  if (!facts.loopback_library) {
    return "this installation lacks lib/cuco/loopback/libnccl.so.2: build or install it completely";
  }
  if (!facts.driver->green_contexts) {
    return fmt::format(
        "the driver (for CUDA {}) cannot divide a GPU between ranks (green contexts): install one "
        "for CUDA 12.4 or newer",
        facts.driver->version);
  }
  if (wish.uses_mpi && wish.ranks > 1 && !facts.mps_control) {
    return "MPI programs share a GPU only under NVIDIA's Multi-Process "
           "Service: nvidia-cuda-mps-control is not in PATH";
  }
  return missing_tools(facts, wish);
}

std::string missing_for_cluster(const RealFacts& facts, const RealWish& wish) {
  if (std::string why = missing_tools(facts, wish); !why.empty()) return why;
  if (wish.builds && !wish.knows_gpu && !missing_gpu(facts).empty())
    return "there is no GPU here to build for: --topology NAME says which GPUs the cluster has";
  return {};
}

Result<system::Path> find_loopback_folder() {
  CUCO_TRY_ASSIGN(const system::Path library, system::find_data("lib/cuco/loopback/libnccl.so.2"));
  return library.parent_path();
}

Result<system::Path> find_mps_control(const system::Environment& environment) {
  return system::find_program("nvidia-cuda-mps-control", environment.get("PATH").value_or(""));
}

}  // namespace cuco::targets
