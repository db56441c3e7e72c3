// SPDX-License-Identifier: Apache-2.0
/// \file
/// A PTX module loaded on one device: variables allocated and initialised, kernels ready to launch.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "ptx/module.h"
#include "vgpu/memory/address_map.h"
#include "vgpu/memory/memory.h"

namespace cuco::vgpu {

struct Kernel;  // The lowered code: code.h.

/// Where one kernel parameter lies in the argument bytes.
struct ParameterInfo {
  std::uint32_t offset = 0;
  std::uint32_t bytes = 0;
};

struct KernelInfo {
  std::string name;
  std::vector<ParameterInfo> parameters;
  std::uint32_t argument_bytes = 0;
  std::uint32_t static_shared = 0;
  std::uint32_t local_bytes = 0;    ///< Per thread, without the frames of recursive calls.
  std::uint32_t registers = 32;     ///< Per thread: from ptxas if known, else estimated.
  bool registers_known = false;     ///< They are ptxas's, and so is what it spills.
  std::uint32_t spilled_bytes = 0;  ///< Per thread, if known.
  std::uint32_t max_threads = 1024;
  std::uint32_t bound_threads = 0;  ///< .maxntid: what ptxas was told; 0: nothing.
  std::uint32_t max_registers = 255;
};

struct SymbolInfo {
  Address address = 0;
  std::uint64_t bytes = 0;
  bool constant = false;
  bool managed = false;
};

class Program {
 public:
  /// Allocates and initialises the module's .global and .const variables on `device`. Kernels are
  /// lowered when first asked for. `memory` must outlive the program.
  static Result<std::unique_ptr<Program>> load(std::shared_ptr<const ptx::Module> module,
                                               Memory& memory,
                                               unsigned device);
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  /// Index of an entry by its mangled name.
  [[nodiscard]] std::optional<std::uint32_t> find_kernel(std::string_view name) const;
  [[nodiscard]] std::uint32_t kernel_count() const {
    return static_cast<std::uint32_t>(entries_.size());
  }
  /// What a launch and cudaFuncGetAttributes need. Lowers the kernel.
  [[nodiscard]] const KernelInfo& kernel_info(std::uint32_t kernel);
  [[nodiscard]] std::optional<SymbolInfo> find_symbol(std::string_view name) const;

  /// Sets what ptxas says: registers of a thread, and bytes of its stack frame, spills included.
  void set_registers(std::uint32_t kernel, std::uint32_t registers, std::uint32_t frame = 0);

  [[nodiscard]] const Kernel& kernel(std::uint32_t kernel);
  [[nodiscard]] const ptx::Module& module() const { return *module_; }
  /// Where all .const variables lie: isspacep.const.
  [[nodiscard]] bool is_constant(Address address) const {
    return address - constants_ < constant_bytes_;
  }
  [[nodiscard]] unsigned device() const { return device_; }
  /// Address of a module-scope .global/.const variable, or the fake code address of a function;
  /// nullopt for .shared, which has none until a block runs.
  [[nodiscard]] std::optional<Address> symbol_address(std::uint32_t symbol) const;

 private:
  Program(std::shared_ptr<const ptx::Module> module, Memory& memory, unsigned device);
  Result<void> place_variables();
  Result<void> place_constants();
  void initialise_variable(std::uint32_t index);

  std::shared_ptr<const ptx::Module> module_;
  Memory& memory_;
  unsigned device_;
  Address constants_ = 0;
  std::uint64_t constant_bytes_ = 0;
  std::vector<std::uint32_t> entries_;             ///< kernel -> module function
  std::vector<std::optional<Address>> variables_;  ///< by module variable
  std::vector<std::unique_ptr<Kernel>> kernels_;   ///< by kernel, null until lowered
  std::unordered_map<std::string, std::uint32_t> kernel_names_;
};

}  // namespace cuco::vgpu
