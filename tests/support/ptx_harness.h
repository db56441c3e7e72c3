// SPDX-License-Identifier: Apache-2.0
/// \file
/// PTX text in, results out: one device, one module, blocking launches. For tests and benchmarks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/result.h"
#include "hardware/gpu_description.h"
#include "vgpu/gpu/gpu.h"
#include "vgpu/lower/program.h"
#include "vgpu/memory/memory.h"

namespace cuco::vgpu {

/// How a launch ended. A deadlock leaves the grid unfinished and says who waits.
struct HarnessResult {
  GridResult grid;
  std::vector<std::string> deadlock;
  std::string printed;
  [[nodiscard]] bool ok() const { return !grid.trap && deadlock.empty(); }
};

struct HarnessLaunch {
  Dim3 grid{1, 1, 1};
  Dim3 block{1, 1, 1};
  std::uint32_t dynamic_shared = 0;
  bool cooperative = false;
  std::uint64_t instruction_budget = 200'000'000;
};

class Harness {
 public:
  /// Parses and loads PTX on device 0 of a machine with `devices` devices.
  static Result<std::unique_ptr<Harness>> load(std::string_view ptx,
                                               const hardware::GpuDescription& description,
                                               Environment environment = {},
                                               unsigned devices = 1);

  /// Device memory holding a copy of the values; freed with the harness.
  template <typename T>
  Address upload(std::span<const T> values) {
    const Address address = allocate(values.size_bytes());
    std::memcpy(Memory::at(address), values.data(), values.size_bytes());
    return address;
  }
  template <typename T>
  std::vector<T> download(Address address, std::size_t count) const {
    std::vector<T> out(count);
    std::memcpy(out.data(), Memory::at(address), count * sizeof(T));
    return out;
  }
  Address allocate(std::uint64_t bytes);

  /// Launches with arguments given one by one; each must have its parameter's size.
  template <typename... Args>
  Result<HarnessResult> run(std::string_view kernel, const HarnessLaunch& launch, Args... args) {
    std::vector<std::vector<std::byte>> packed;
    (packed.push_back(bytes_of(args)), ...);
    return run_packed(kernel, launch, packed);
  }
  Result<HarnessResult> run_packed(std::string_view kernel,
                                   const HarnessLaunch& launch,
                                   std::span<const std::vector<std::byte>> args);

  [[nodiscard]] Memory& memory() { return *memory_; }
  [[nodiscard]] Gpu& gpu() { return *gpu_; }
  [[nodiscard]] Program& program() { return *program_; }

 private:
  Harness() = default;
  template <typename T>
  static std::vector<std::byte> bytes_of(const T& value) {
    static_assert(std::is_trivially_copyable_v<T>);
    std::vector<std::byte> out(sizeof(T));
    std::memcpy(out.data(), &value, sizeof(T));
    return out;
  }

  std::unique_ptr<Memory> memory_;
  std::unique_ptr<Program> program_;
  std::unique_ptr<Gpu> gpu_;
  std::string printed_;
  VTime now_ = 0;
};

}  // namespace cuco::vgpu
