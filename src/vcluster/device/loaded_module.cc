// SPDX-License-Identifier: Apache-2.0
#include "vcluster/device/loaded_module.h"

#include <algorithm>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "ptx/container/fatbin.h"
#include "ptx/parse/parse.h"
#include "shims/wire/view.h"
#include "vcluster/device/devices.h"
#include "vcluster/host/client_process.h"
#include "vcluster/watch/run_check.h"

namespace cuco::vcluster {
namespace {

Result<std::shared_ptr<const ptx::Module>> parse_and_link(const std::vector<std::string>& texts) {
  std::vector<ptx::Module> modules;
  for (const std::string& text : texts) {
    CUCO_TRY_ASSIGN(ptx::Module module, ptx::parse(text));
    modules.push_back(std::move(module));
  }
  ptx::Module linked;
  if (modules.size() == 1) {
    linked = std::move(modules.front());
  } else {
    CUCO_TRY_ASSIGN(linked, ptx::link(std::move(modules)));
  }
  // The process maps its managed variables, and devices share them: they lie alone.
  for (ptx::Variable& variable : linked.variables) {
    if (!variable.managed) continue;
    variable.align = vgpu::kGranule;
    variable.bytes = (variable.bytes + vgpu::kGranule - 1) / vgpu::kGranule * vgpu::kGranule;
  }
  return std::make_shared<const ptx::Module>(std::move(linked));
}

/// A managed variable is the same on all devices: those of `program` become views of those that are
/// there already.
Result<void> share_managed(vgpu::Memory& memory,
                           const Module& module,
                           const vgpu::Program& program) {
  for (const ptx::Variable& variable : module.parsed->variables) {
    if (!variable.managed) continue;
    const auto there = module.programs.begin()->second->find_symbol(variable.name);
    const auto here = program.find_symbol(variable.name);
    if (!there || !here) continue;
    CUCO_TRY(memory.alias(here->address, memory.canonical(there->address), here->bytes));
  }
  return {};
}

}  // namespace

std::shared_ptr<Module> make_module(std::uint64_t id,
                                    const std::vector<std::vector<std::byte>>& images,
                                    std::uint32_t sm) {
  auto module = std::make_shared<Module>();
  module->id = id;
  std::string reason;
  for (const auto& image : images) {
    // An uncompressed fat binary has the text inside, too.
    const bool is_fat_binary = ptx::fatbin_size(image).has_value();
    if (!is_fat_binary &&
        wire::text_of(image).substr(0, 4096).find(".version") != std::string_view::npos) {
      const std::string_view text = wire::text_of(image);
      module->texts.emplace_back(text.substr(0, text.find('\0')));
      continue;
    }
    module->resources.merge(ptx::resources_of_fatbin(image, sm));
    auto text = ptx::ptx_of_fatbin(image, sm);
    if (text) {
      module->texts.push_back(*std::move(text));
    } else {
      // An object file without device code, or only libcudadevrt's, has nothing to add.
      constexpr std::string_view kElf = "\177ELF";
      reason = wire::text_of(image).starts_with(kElf)
                   ? "machine code (a cubin) was loaded; the virtual GPU executes PTX: build with "
                     "nvcc -ptx, or -fatbin with code=compute_" +
                         std::to_string(sm)
                   : text.error().message();
    }
  }
  if (module->texts.empty()) {
    module->error = reason.empty() ? "the program holds no device code" : reason;
  }
  return module;
}

namespace {

/// ptxas would not have made a program of it. What several variables of a kernel need together is
/// found at its launch.
Result<void> check_static_shared(std::span<const ptx::Variable> variables, std::uint64_t most) {
  for (const ptx::Variable& variable : variables) {
    if (variable.space != ptx::Space::Shared || variable.bytes <= most) continue;
    return Error{ErrorKind::InvalidInput,
                 fmt::format("{} has {} bytes of static shared memory, {} are allowed: ptxas "
                             "refuses it; take dynamic shared memory",
                             variable.name, variable.bytes, most)};
  }
  return {};
}

Result<void> check_static_shared(const ptx::Module& module, const hardware::GpuDescription& gpu) {
  CUCO_TRY(check_static_shared(module.variables, gpu.shared_per_block));
  for (const ptx::Function& function : module.functions) {
    CUCO_TRY(check_static_shared(function.variables, gpu.shared_per_block));
  }
  return {};
}

}  // namespace

Result<vgpu::Program*> program_on(const Devices& devices,
                                  RunCheck* check,
                                  Process& process,
                                  Module& module,
                                  std::int32_t device) {
  const auto found = module.programs.find(device);
  if (found != module.programs.end()) return found->second.get();
  if (module.parsed == nullptr && module.error.empty()) {
    auto parsed = parse_and_link(module.texts);
    if (parsed) {
      module.parsed = *std::move(parsed);
      module.texts.clear();
      const auto fits = check_static_shared(*module.parsed, devices.gpu(device).description());
      if (!fits) module.error = fits.error().message();
    } else {
      module.error = parsed.error().message();
    }
  }
  if (!module.error.empty()) {
    if (!std::exchange(module.error_reported, true)) {
      process.tell("cuco: " + module.error + "\n");
    }
    return Error{ErrorKind::InvalidInput, module.error};
  }
  auto program =
      vgpu::Program::load(module.parsed, devices.memory(), static_cast<unsigned>(device));
  if (!program) {
    process.tell("cuco: " + program.error().message() + "\n");
    return std::move(program).error();
  }
  CUCO_TRY(module.programs.empty() ? Result<void>{}
                                   : share_managed(devices.memory(), module, **program));
  if (check != nullptr) check->on_program(process, **program, device);
  return (module.programs[device] = *std::move(program)).get();
}

std::optional<std::uint32_t> find_kernel(const Module& module,
                                         vgpu::Program& program,
                                         const std::string& name) {
  const auto kernel = program.find_kernel(name);
  const auto found = module.resources.find(name);
  if (kernel && found != module.resources.end() && found->second.registers != 0) {
    program.set_registers(*kernel, found->second.registers, found->second.frame_bytes);
  }
  return kernel;
}

}  // namespace cuco::vcluster
