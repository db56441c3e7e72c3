// SPDX-License-Identifier: Apache-2.0
#include "vcluster/watch/written_types.h"

#include "ptx/flow/stored_type.h"
#include "vgpu/gpu/grid.h"
#include "vgpu/gpu/warp.h"
#include "vgpu/lower/code.h"

namespace cuco::vcluster {
namespace {

constexpr unsigned kPageBits = 8;
constexpr WrittenAs kUnknown = 0x80;

WrittenAs bits_of(const ptx::StoredType& type) {
  WrittenAs bits = 0;
  if (type.f16) bits |= kAsFloat16;
  if (type.bf16) bits |= kAsBfloat16;
  if (type.f32) bits |= kAsFloat32;
  if (type.f64) bits |= kAsFloat64;
  if (type.integer) bits |= kAsInteger;
  return bits;
}

}  // namespace

WrittenAs written_as(nccl_core::DataType type) {
  using nccl_core::DataType;
  switch (type) {
    case DataType::Float16:
      return kAsFloat16;
    case DataType::Bfloat16:
      return kAsBfloat16;
    case DataType::Float32:
      return kAsFloat32;
    case DataType::Float64:
      return kAsFloat64;
    case DataType::Int32:
    case DataType::Uint32:
    case DataType::Int64:
    case DataType::Uint64:
      return kAsInteger;
    default:
      return 0;  // Bytes are how anything is sent.
  }
}

void WrittenTypes::note(vgpu::Address address, std::uint64_t bytes, WrittenAs as) {
  if (as == 0 || bytes == 0) return;
  anywhere_ |= as;
  for (std::uint64_t page = address >> kPageBits; page <= (address + bytes - 1) >> kPageBits;
       ++page) {
    pages_[page] |= as;
  }
}

void WrittenTypes::note_copy(vgpu::Address to, vgpu::Address from, std::uint64_t bytes) {
  constexpr std::uint64_t kPage = 1U << kPageBits;
  for (std::uint64_t done = 0; done < bytes; done += kPage) {
    const std::uint64_t part = std::min(kPage, bytes - done);
    note(to + done, part, of(from + done, part));
  }
}

WrittenAs WrittenTypes::of(vgpu::Address address, std::uint64_t bytes) const {
  WrittenAs all = 0;
  if (bytes == 0) return all;
  for (std::uint64_t page = address >> kPageBits; page <= (address + bytes - 1) >> kPageBits;
       ++page) {
    const auto found = pages_.find(page);
    if (found != pages_.end()) all |= found->second;
  }
  return all;
}

WrittenAs WrittenTypes::type_of(const vgpu::Kernel& kernel, std::uint32_t origin) {
  auto& types = kernels_[&kernel];
  types.resize(kernel.origins.size(), kUnknown);
  if (types[origin] == kUnknown) {
    const vgpu::Origin& from = kernel.origins[origin];
    types[origin] = bits_of(ptx::stored_type(*from.function, *from.instruction));
  }
  return types[origin];
}

void WrittenTypes::on_access(const vgpu::Warp& warp,
                             const vgpu::Op& op,
                             const vgpu::AccessEvent& event) {
  if (event.kind == vgpu::AccessKind::Load || event.space != ptx::Space::Global) return;
  const WrittenAs as = type_of(*warp.kernel, op.source);
  if (as == 0) return;
  std::uint64_t last = ~std::uint64_t{0};  // Neighbours share their page.
  for (unsigned lane = 0; lane < vgpu::kLanes; ++lane) {
    if ((event.lanes >> lane & 1U) == 0 || event.addresses[lane] >> kPageBits == last) continue;
    last = event.addresses[lane] >> kPageBits;
    note(event.addresses[lane], event.bytes, as);
  }
}

void WrittenTypes::on_grid_end(const vgpu::Grid& grid) {
  kernels_.erase(grid.kernel);
}

}  // namespace cuco::vcluster
