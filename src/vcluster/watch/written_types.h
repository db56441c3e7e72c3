// SPDX-License-Identifier: Apache-2.0
/// \file
/// As what memory was written: kernels say it by their instructions, collectives by their data
/// type. Whoever compares what two programs computed has to know what are numbers with a rounding
/// error and what are indices.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "nccl_core/types.h"
#include "vcluster/record/copy_log.h"
#include "vgpu/gpu/observer.h"

namespace cuco::vgpu {
struct Kernel;
}

namespace cuco::vcluster {

[[nodiscard]] WrittenAs written_as(nccl_core::DataType type);

/// Kept per 256 bytes, and nothing is ever taken back: memory that was used as two things is both.
class WrittenTypes final : public vgpu::AccessObserver {
 public:
  void note(vgpu::Address address, std::uint64_t bytes, WrittenAs as);
  /// What was moved is what it was.
  void note_copy(vgpu::Address to, vgpu::Address from, std::uint64_t bytes);
  [[nodiscard]] WrittenAs of(vgpu::Address address, std::uint64_t bytes) const;
  [[nodiscard]] WrittenAs anywhere() const { return anywhere_; }

  void on_access(const vgpu::Warp& warp,
                 const vgpu::Op& op,
                 const vgpu::AccessEvent& event) override;
  void on_grid_end(const vgpu::Grid& grid) override;

 private:
  WrittenAs type_of(const vgpu::Kernel& kernel, std::uint32_t origin);

  std::unordered_map<std::uint64_t, WrittenAs> pages_;
  WrittenAs anywhere_ = 0;
  /// By origin; what is not known yet is kUnknown. Dropped with the grid: its module may go.
  std::unordered_map<const vgpu::Kernel*, std::vector<WrittenAs>> kernels_;
};

}  // namespace cuco::vcluster
