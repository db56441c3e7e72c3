// SPDX-License-Identifier: Apache-2.0
/// \file
/// Code that a process registered: PTX, parsed once, loaded on a device when first used there.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "ptx/container/cubin.h"
#include "ptx/module.h"
#include "vgpu/lower/program.h"

namespace cuco::vcluster {

class Devices;
class RunCheck;
struct Process;

struct Module {
  std::uint64_t id = 0;
  std::vector<std::string> texts;             ///< PTX, one per image; several are linked.
  ptx::KernelResources resources;             ///< From ptxas, where the program holds its code.
  std::shared_ptr<const ptx::Module> parsed;  // shared with the programs of all devices
  std::string error;                          ///< Why it cannot be used; empty if it can.
  bool error_reported = false;
  std::map<std::int32_t, std::unique_ptr<vgpu::Program>> programs;
};

struct Function {
  std::uint64_t id = 0;
  std::shared_ptr<Module> module;  // outlives the handle while kernels run
  std::string name;
  /// By device; what cudaFuncSetAttribute allowed. Absent: the limit without opt-in.
  std::map<std::int32_t, std::uint32_t> max_dynamic_smem;
  std::map<std::int32_t, std::int32_t> carveout;
};

/// Takes the PTX for compute capability `sm` (90) out of fat binaries. A module without PTX gets an
/// `error` instead.
[[nodiscard]] std::shared_ptr<Module> make_module(std::uint64_t id,
                                                  const std::vector<std::vector<std::byte>>& images,
                                                  std::uint32_t sm);

/// The module on a device, parsed, linked and loaded if it was not yet. `check` is null in an
/// ordinary run.
[[nodiscard]] Result<vgpu::Program*> program_on(
    const Devices& devices, RunCheck* check, Process& process, Module& module, std::int32_t device);

/// A kernel of the module on a device, with the registers that ptxas gave it, if known.
[[nodiscard]] std::optional<std::uint32_t> find_kernel(const Module& module,
                                                       vgpu::Program& program,
                                                       const std::string& name);

}  // namespace cuco::vcluster
