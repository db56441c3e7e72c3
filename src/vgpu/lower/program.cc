// SPDX-License-Identifier: Apache-2.0
#include "vgpu/lower/program.h"

#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "vgpu/lower/code.h"
#include "vgpu/lower/kernel_builder.h"

namespace cuco::vgpu {

Program::Program(std::shared_ptr<const ptx::Module> module, Memory& memory, unsigned device)
    : module_(std::move(module)), memory_(memory), device_(device) {}

Program::~Program() {
  for (const auto& address : variables_) {
    if (address && !is_constant(*address)) (void)memory_.free(*address).has_value();
  }
  if (constant_bytes_ != 0) (void)memory_.free(constants_).has_value();
}

Result<std::unique_ptr<Program>> Program::load(std::shared_ptr<const ptx::Module> module,
                                               Memory& memory,
                                               unsigned device) {
  std::unique_ptr<Program> program(new Program(std::move(module), memory, device));
  const auto& functions = program->module_->functions;
  for (std::uint32_t i = 0; i < functions.size(); ++i) {
    if (!functions[i].is_entry || !functions[i].has_body) continue;
    program->kernel_names_[functions[i].name] = program->kernel_count();
    program->entries_.push_back(i);
  }
  program->kernels_.resize(program->entries_.size());
  CUCO_TRY(program->place_variables());
  return program;
}

Result<void> Program::place_variables() {
  const auto& variables = module_->variables;
  variables_.resize(variables.size());
  CUCO_TRY(place_constants());
  for (std::size_t i = 0; i < variables.size(); ++i) {
    const ptx::Variable& variable = variables[i];
    if (variable.space != ptx::Space::Global || variable.linkage == ptx::Linkage::Extern) continue;
    auto address = memory_.allocate(device_, std::max<std::uint64_t>(variable.bytes, 1),
                                    std::max<std::uint64_t>(variable.align, 256));
    if (!address) {
      return std::move(address).error().while_doing(
          fmt::format("place variable {}", variable.name));
    }
    variables_[i] = *address;
  }
  // Addresses are all known now: initialisers may hold each other's.
  for (std::uint32_t i = 0; i < variables.size(); ++i) {
    if (variables_[i]) initialise_variable(i);
  }
  return {};
}

Result<void> Program::place_constants() {
  const auto& variables = module_->variables;
  std::vector<std::uint64_t> offsets(variables.size(), 0);
  for (std::size_t i = 0; i < variables.size(); ++i) {
    if (variables[i].space != ptx::Space::Const) continue;
    const std::uint64_t align = std::max<std::uint64_t>(variables[i].align, 16);
    offsets[i] = (constant_bytes_ + align - 1) / align * align;
    constant_bytes_ = offsets[i] + std::max<std::uint64_t>(variables[i].bytes, 1);
  }
  if (constant_bytes_ == 0) return {};
  auto base = memory_.allocate(device_, constant_bytes_, 256);
  if (!base) {
    constant_bytes_ = 0;
    return std::move(base).error().while_doing("place constants");
  }
  constants_ = *base;
  for (std::size_t i = 0; i < variables.size(); ++i) {
    if (variables[i].space == ptx::Space::Const) variables_[i] = constants_ + offsets[i];
  }
  return {};
}

void Program::initialise_variable(std::uint32_t index) {
  const ptx::Variable& variable = module_->variables[index];
  std::byte* to = Memory::at(*variables_[index]);
  std::memset(to, 0, variable.bytes);
  if (!variable.init.empty()) {
    std::memcpy(to, variable.init.data(),
                std::min<std::uint64_t>(variable.init.size(), variable.bytes));
  }
  for (const ptx::Relocation& relocation : variable.relocations) {
    if (relocation.bytes > 8 || relocation.offset + relocation.bytes > variable.bytes) continue;
    const std::uint64_t value = symbol_address(relocation.symbol).value_or(0) +
                                static_cast<std::uint64_t>(relocation.addend);
    const std::uint64_t shifted = value >> relocation.shift;
    std::memcpy(to + relocation.offset, &shifted, relocation.bytes);
  }
}

std::optional<std::uint32_t> Program::find_kernel(std::string_view name) const {
  const auto found = kernel_names_.find(std::string(name));
  if (found == kernel_names_.end()) return std::nullopt;
  return found->second;
}

const Kernel& Program::kernel(std::uint32_t kernel) {
  auto& slot = kernels_[kernel];
  if (slot == nullptr) slot = KernelBuilder(*this, *module_).build(entries_[kernel]);
  return *slot;
}

const KernelInfo& Program::kernel_info(std::uint32_t index) {
  return kernel(index).info;
}

void Program::set_registers(std::uint32_t index, std::uint32_t registers, std::uint32_t frame) {
  (void)kernel(index);
  KernelInfo& info = kernels_[index]->info;
  info.registers = registers;
  info.registers_known = true;
  // What PTX itself keeps in local memory is in the frame, too.
  info.spilled_bytes = frame > info.local_bytes ? frame - info.local_bytes : 0;
}

std::optional<SymbolInfo> Program::find_symbol(std::string_view name) const {
  for (std::size_t i = 0; i < module_->variables.size(); ++i) {
    const ptx::Variable& variable = module_->variables[i];
    if (variable.name != name || !variables_[i]) continue;
    return SymbolInfo{*variables_[i], variable.bytes, variable.space == ptx::Space::Const,
                      variable.managed};
  }
  return std::nullopt;
}

std::optional<Address> Program::symbol_address(std::uint32_t symbol) const {
  if (symbol >= module_->symbols.size()) return std::nullopt;
  const ptx::Symbol& entry = module_->symbols[symbol];
  if (entry.kind == ptx::Symbol::Kind::Function) return kCodeBase + kCodeStride * symbol;
  return variables_[entry.index];
}

}  // namespace cuco::vgpu
