// SPDX-License-Identifier: Apache-2.0
/// \file
/// What the program's static constructors registered: modules, kernels, variables.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "shims/cudart/abi.h"

namespace cuco::cudart {

/// Code that the server gets when something of it is first used.
struct CodeModule {
  std::vector<std::pair<const std::byte*, std::size_t>> images;
  std::uint64_t number = 0;  ///< The server's; 0: not loaded yet.
  unsigned generation = 0;
};

struct Kernel {
  CodeModule* module = nullptr;
  std::string name;
  std::uint64_t number = 0;  ///< The server's.
  unsigned generation = 0;
  struct Parameter {
    std::uint32_t offset = 0;
    std::uint32_t bytes = 0;
  };
  std::vector<Parameter> parameters;
  std::uint32_t parameter_bytes = 0;
};

struct DeviceVariable {
  CodeModule* module = nullptr;
  std::string name;
  std::size_t bytes = 0;
  void** managed = nullptr;  ///< Where the program keeps a managed variable's address.
};

/// Adds a module by its images; it lives for ever.
CodeModule* add_module(std::vector<std::pair<const std::byte*, std::size_t>> images);
/// The images of a fat binary's wrapper, as nvcc makes it; empty if it is none.
[[nodiscard]] std::vector<std::pair<const std::byte*, std::size_t>> images_of(const void* wrapper);

/// A kernel by the program's function pointer or by a handle of cudaGetKernel; null: unknown.
[[nodiscard]] Kernel* find_kernel(const void* function);
/// A loaded kernel by the server's number, and what the program calls it by; nulls: unknown.
[[nodiscard]] std::pair<const void*, Kernel*> function_of(std::uint64_t number);
Kernel* add_kernel(CodeModule* module, std::string name, const void* host_function);
[[nodiscard]] DeviceVariable* find_variable(const void* host_variable);

/// Sends the module to the server if it has not got it; CUDA's error otherwise.
[[nodiscard]] Error load(CodeModule& module);
/// Makes a kernel's number and parameter layout known.
[[nodiscard]] Error load(Kernel& kernel);
/// A variable's address on the current device.
[[nodiscard]] Error locate(DeviceVariable& variable, std::uint64_t* address, std::uint64_t* bytes);
/// Gives every managed variable of the module its memory. Once.
[[nodiscard]] Error place_managed(CodeModule& module);
/// The same for all modules: before the first call that runs kernels or copies.
void place_all_managed();

}  // namespace cuco::cudart
