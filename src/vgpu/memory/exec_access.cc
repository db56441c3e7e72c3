// SPDX-License-Identifier: Apache-2.0
// The memory port: lane addresses to server memory, and who is told of an access.
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "vgpu/exec/exec.h"
#include "vgpu/gpu/grid.h"
#include "vgpu/gpu/plain_spin.h"
#include "vgpu/memory/access.h"

namespace cuco::vgpu {

[[gnu::noinline]] void observe(Warp& w,
                               const Op& op,
                               AccessKind kind,
                               const LaneAddresses& addresses,
                               std::uint32_t bytes,
                               const BulkCopy* copy) {
  const MemoryAux aux = MemoryAux::unpack(op.aux);
  const std::uint32_t element = aux.vector > 1 ? aux.bytes : 0;
  AccessEvent event{.kind = kind,
                    .space = aux.space,
                    .order = aux.order,
                    .scope = aux.scope,
                    .bytes = bytes,
                    .lanes = w.active,
                    .addresses = addresses,
                    .element = element,
                    .copy = copy};
  if (aux.space == ptx::Space::Shared || aux.space == ptx::Space::Local ||
      aux.space == ptx::Space::Param) {
    w.observer->on_access(w, op, event);
    return;
  }
  // Generic accesses are reported by the space they really go to.
  LaneAddresses own{};
  std::array<std::uint32_t, 3> groups{};
  for_active(w.active, [&](unsigned l) {
    const Address a = addresses[l];
    const bool generic = aux.space == ptx::Space::Generic;
    const unsigned group = generic && is_shared(a) ? 1 : generic && is_local(a) ? 2 : 0;
    own[l] = group == 1   ? a - kSharedWindow
             : group == 2 ? a - kLocalWindow
                          : (is_mapped_region(a) ? w.memory->canonical(a) : a);
    groups[group] |= 1U << l;
  });
  constexpr std::array kSpaces{ptx::Space::Global, ptx::Space::Shared, ptx::Space::Local};
  for (unsigned g = 0; g < 3; ++g) {
    if (groups[g] == 0) continue;
    AccessEvent part{.kind = kind,
                     .space = kSpaces[g],
                     .order = aux.order,
                     .scope = aux.scope,
                     .bytes = bytes,
                     .lanes = groups[g],
                     .addresses = own,
                     .element = element,
                     .copy = copy};
    w.observer->on_access(w, op, part);
  }
}

namespace {

bool is_in_constants(const Warp& w, Address address, std::uint32_t bytes) {
  const Program& program = *w.grid->request.program;
  return program.is_constant(address) && program.is_constant(address + bytes - 1);
}

std::byte* bad_address(
    Warp& w, const Op& op, unsigned lane, Address address, std::uint32_t bytes, const char* why) {
  w.raise(op, TrapKind::IllegalAddress, lane,
          fmt::format("{} of {} bytes at {:#x}: {}", w.kernel->origins[op.source].instruction->text,
                      bytes, address, why),
          address);
  return nullptr;
}

}  // namespace

void gather_addresses(const Warp& w, const Op& op, LaneAddresses& out) {
  if ((op.aux >> 20U & 1U) != 0) {
    const std::uint32_t* a = w.slots<std::uint32_t>(op.a);
    const auto offset = static_cast<std::uint32_t>(op.imm);
    for (unsigned l = 0; l < kLanes; ++l)
      out[l] = a[l] + offset;
  } else {
    const std::uint64_t* a = w.slots<std::uint64_t>(op.a);
    for (unsigned l = 0; l < kLanes; ++l)
      out[l] = a[l] + op.imm;
  }
}

std::byte* resolve(
    Warp& w, const Op& op, ptx::Space space, unsigned lane, Address address, std::uint32_t bytes) {
  if ((address & (std::min(bytes, 16U) - 1)) != 0) {
    w.raise(op, TrapKind::Misaligned, lane,
            fmt::format("{} of {} bytes at {:#x}", w.kernel->origins[op.source].instruction->text,
                        bytes, address),
            address);
    return nullptr;
  }
  if (space == ptx::Space::Generic) {
    if (is_shared(address)) {
      space = ptx::Space::Shared;
      address -= kSharedWindow;
    } else if (is_local(address)) {
      space = ptx::Space::Local;
      address -= kLocalWindow;
    }
  }
  if (space == ptx::Space::Shared) {
    const std::uint64_t size = w.block->shared.size();
    if (address >= size || bytes > size - address) {
      return bad_address(w, op, lane, address, bytes, "outside of the block's shared memory");
    }
    return w.block->shared.data() + address;
  }
  if (space == ptx::Space::Local) {
    if (address >= w.local_stride || bytes > w.local_stride - address) {
      return bad_address(w, op, lane, address, bytes, "outside of the thread's local memory");
    }
    return w.local.data() + std::size_t{lane} * w.local_stride + address;
  }
  if (space == ptx::Space::Param) {
    if (address >= w.kernel->info.argument_bytes ||
        bytes > w.kernel->info.argument_bytes - address) {
      return bad_address(w, op, lane, address, bytes, "outside of the parameters");
    }
    return Memory::at(w.grid->parameters + address);
  }
  if (space == ptx::Space::Const && !is_in_constants(w, address, bytes)) {
    return bad_address(w, op, lane, address, bytes,
                       "outside of constant memory: a GPU would give another value");
  }
  const Granule& granule = w.memory->granule(address);
  if ((granule.flags & Granule::Valid) == 0) {
    return bad_address(w, op, lane, address, bytes,
                       (granule.flags & Granule::Multicast) != 0
                           ? "a multicast address takes multimem and stores only"
                           : "nothing is mapped there");
  }
  if (granule.owner != w.grid->device && granule.owner != kHostOwner &&
      (w.grid->peers >> granule.owner & 1U) == 0) {
    return bad_address(w, op, lane, address, bytes, "no peer access to that device");
  }
  return Memory::at(address);
}

void after_write(Warp& w, ptx::Space space, Address address, std::uint32_t bytes) {
  if (space == ptx::Space::Generic) {
    if (is_local(address)) {
      space = ptx::Space::Local;
    } else if (is_shared(address)) {
      space = ptx::Space::Shared;
      address -= kSharedWindow;
    }
  }
  // Nobody else reads local memory; it is part of the state that spins are recognised by.
  if (space == ptx::Space::Local && w.local.size() <= kMaxSpinLocal) return;
  note_progress(w);
  if (space == ptx::Space::Shared) {
    if (!w.block->watches.empty()) {
      w.sync_clock();
      notify_shared(*w.block, static_cast<std::uint32_t>(address), bytes, w.clock);
    }
  } else if (space != ptx::Space::Local && w.memory->has_watches()) {
    w.sync_clock();
    w.memory->notify_kernel_write(address, bytes, w.clock);
  }
}

void observe_row(const Warp& w, RowEvent row) {
  if (row.space == ptx::Space::Const) row.space = ptx::Space::Global;
  if (row.space == ptx::Space::Global && is_mapped_region(row.first)) {
    row.first = w.memory->canonical(row.first);
  }
  w.observer->on_rows(w, {&row, 1});
}

}  // namespace cuco::vgpu
