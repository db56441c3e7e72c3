// SPDX-License-Identifier: Apache-2.0
#include "vgpu/memory/memory.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/assert.h"
#include "system/memory/fixed_memory.h"

namespace cuco::vgpu {

namespace {

constexpr std::uint64_t kLineShift = 6;

constexpr std::uint64_t round_up(std::uint64_t value, std::uint64_t unit) {
  return (value + unit - 1) / unit * unit;
}

constexpr bool is_power_of_two(std::uint64_t value) {
  return value != 0 && (value & (value - 1)) == 0;
}

}  // namespace

Result<std::unique_ptr<Memory>> Memory::create(unsigned devices) {
  if (devices > kMaxDevices) {
    return Error(ErrorKind::InvalidInput, fmt::format("at most {} devices", kMaxDevices));
  }
  std::unique_ptr<Memory> memory(new Memory());
  CUCO_TRY_ASSIGN(void* table, system::map_zeroed((kGranules + 1) * sizeof(Granule)));
  memory->table_ = static_cast<Granule*>(table);
  for (unsigned d = 0; d < devices; ++d) {
    Region region{.base = device_base(d),
                  .limit = kDeviceStride,
                  .fd = -1,
                  .owner = static_cast<std::uint8_t>(d),
                  .used = {},
                  .granule_uses = {},
                  .used_bytes = 0};
    CUCO_TRY(memory->open_region(region));
    memory->device_fds_.push_back(region.fd);
    memory->devices_.push_back(std::move(region));
  }
  return memory;
}

Memory::~Memory() {
  const auto close_region = [](Region& region) {
    system::unmap(at(region.base), region.limit);
    system::Fd(region.fd).reset();
  };
  for (Region& region : devices_)
    close_region(region);
  for (auto& [process, region] : hosts_)
    close_region(region);
  for (const auto& [base, bytes] : aliases_)
    system::unmap(at(base), bytes);
  if (table_ != nullptr) system::unmap(table_, (kGranules + 1) * sizeof(Granule));
}

Result<void> Memory::open_region(Region& region) {
  CUCO_TRY_ASSIGN(system::Fd file, system::create_memory_file("cuco-device", region.limit));
  const auto mapped =
      system::map_at(at(region.base), region.limit, file.get(), 0, system::AtAddress::MustBeFree);
  if (!mapped) {
    return Error(mapped.error()).while_doing(fmt::format("device memory at {:#x}", region.base));
  }
  region.fd = file.release();
  return {};
}

Result<Address> Memory::allocate(unsigned device, std::uint64_t bytes, std::uint64_t align) {
  if (device >= devices_.size()) {
    return Error(ErrorKind::InvalidInput, fmt::format("no device {}", device));
  }
  return allocate_in(devices_[device], bytes, align);
}

Result<int> Memory::host_fd(unsigned process) {
  if (process >= kMaxProcesses) return Error(ErrorKind::InvalidInput, "too many processes");
  if (const auto found = hosts_.find(process); found != hosts_.end()) return found->second.fd;
  Region region{.base = host_base(process),
                .limit = kHostStride,
                .fd = -1,
                .owner = kHostOwner,
                .used = {},
                .granule_uses = {},
                .used_bytes = 0};
  CUCO_TRY(open_region(region));
  const int fd = region.fd;
  hosts_.emplace(process, std::move(region));
  return fd;
}

Result<Address> Memory::allocate_host(unsigned process, std::uint64_t bytes, std::uint64_t align) {
  CUCO_TRY(host_fd(process));
  return allocate_in(hosts_.at(process), bytes, align);
}

Result<Address> Memory::allocate_in(Region& region, std::uint64_t bytes, std::uint64_t align) {
  if (!is_power_of_two(align)) return Error(ErrorKind::InvalidInput, "alignment is no power of 2");
  align = std::max<std::uint64_t>(align, 256);
  const std::uint64_t size = round_up(std::max<std::uint64_t>(bytes, 1), 256);
  if (bytes > region.limit) return Error(ErrorKind::Unavailable, "out of device memory");
  // First fit: deterministic, and small enough programs never notice the scan.
  std::uint64_t offset = 0;
  for (const auto& [start, length] : region.used) {
    offset = round_up(offset, align);
    if (offset + size <= start) break;
    offset = std::max(offset, start + length);
  }
  offset = round_up(offset, align);
  if (offset + size > region.limit) return Error(ErrorKind::Unavailable, "out of device memory");
  region.used.emplace(offset, size);
  region.used_bytes += size;
  const std::uint64_t last = (offset + size - 1) >> kGranuleShift;
  for (std::uint64_t g = offset >> kGranuleShift; g <= last; ++g) {
    if (region.granule_uses[g]++ == 0) {
      set_granules(region.base + (g << kGranuleShift), kGranule,
                   Granule{.flags = Granule::Valid, .owner = region.owner});
    }
  }
  return region.base + offset;
}

void Memory::give_to_library(Address address) {
  const auto allocation = find_allocation(address);
  if (!allocation || allocation->base != address || address % kGranule != 0) return;
  Granule granule = this->granule(address);
  granule.flags |= Granule::Library;
  set_granules(address, round_up(allocation->bytes, kGranule), granule);
}

Result<void> Memory::free(Address address) {
  Region* region = region_of(address);
  const auto found = region == nullptr ? std::map<std::uint64_t, std::uint64_t>::iterator{}
                                       : region->used.find(address - region->base);
  if (region == nullptr || found == region->used.end()) {
    return Error(ErrorKind::InvalidInput, fmt::format("no allocation at {:#x}", address));
  }
  const auto [offset, size] = *found;
  region->used.erase(found);
  region->used_bytes -= size;
  if (aliases_.erase(address) != 0) {
    // It was a view of other memory: whoever comes next gets the region's own.
    (void)system::map_at(at(address), size, region->fd, offset, system::AtAddress::Replace)
        .has_value();
  }
  const std::uint64_t last = (offset + size - 1) >> kGranuleShift;
  for (std::uint64_t g = offset >> kGranuleShift; g <= last; ++g) {
    const auto uses = region->granule_uses.find(g);
    if (--uses->second != 0) continue;
    region->granule_uses.erase(uses);
    set_granules(region->base + (g << kGranuleShift), kGranule, Granule{});
    // Gives the pages back; a later allocation there starts from zero.
    system::discard(region->fd, g << kGranuleShift, kGranule);
  }
  return {};
}

Result<void> Memory::alias(Address at_address, Address target, std::uint64_t bytes) {
  if ((at_address | target | bytes) % kGranule != 0 || bytes == 0) {
    return Error(ErrorKind::InvalidInput, "an alias is made of whole 2 MiB granules");
  }
  // In a device's own memory an allocation can become a view of another's: managed variables.
  const Region* here = region_of(at_address);
  const auto own = find_allocation(at_address);
  if (here != nullptr ? !own || own->base != at_address || own->bytes < bytes
                      : at_address < kFlatBase || at_address + bytes > kHostBase) {
    return Error(ErrorKind::InvalidInput, "an alias lies in the flat region");
  }
  const Region* region = region_of(target);
  if (region == nullptr || !valid(target, bytes)) {
    return Error(ErrorKind::InvalidInput, fmt::format("nothing to alias at {:#x}", target));
  }
  CUCO_TRY(system::map_at(at(at_address), bytes, region->fd, target - region->base,
                          system::AtAddress::Replace));
  aliases_[at_address] = bytes;
  const auto delta = static_cast<std::int64_t>(target - at_address) >> kGranuleShift;
  set_granules(at_address, bytes,
               Granule{.flags = Granule::Valid,
                       .owner = here != nullptr ? here->owner : region->owner,
                       .reserved = 0,
                       .delta = static_cast<std::int32_t>(delta)});
  return {};
}

Result<void> Memory::unalias(Address at_address, std::uint64_t bytes) {
  const auto found = aliases_.find(at_address);
  if (found == aliases_.end() || found->second != bytes) {
    return Error(ErrorKind::InvalidInput, fmt::format("no alias at {:#x}", at_address));
  }
  set_granules(at_address, bytes, Granule{});
  system::unmap(at(at_address), bytes);
  aliases_.erase(found);
  return {};
}

Result<Address> Memory::add_multicast(std::uint64_t bytes, std::vector<Address> members) {
  if (members.empty() || bytes == 0) return Error(ErrorKind::InvalidInput, "empty multicast");
  for (const Address member : members) {
    if (!valid(member, bytes)) {
      return Error(ErrorKind::InvalidInput, fmt::format("no multicast member at {:#x}", member));
    }
  }
  Address base = kMulticastBase;
  for (const auto& [start, cast] : multicasts_) {
    if (base + bytes <= start) break;
    base = start + round_up(cast.bytes, kGranule);
  }
  if (base + bytes > kHostBase) return Error(ErrorKind::Unavailable, "out of multicast addresses");
  set_granules(base, round_up(bytes, kGranule), Granule{.flags = Granule::Multicast});
  multicasts_.emplace(base, Multicast{base, bytes, std::move(members)});
  return base;
}

Result<void> Memory::remove_multicast(Address base) {
  const auto found = multicasts_.find(base);
  if (found == multicasts_.end()) return Error(ErrorKind::InvalidInput, "no such multicast");
  set_granules(base, round_up(found->second.bytes, kGranule), Granule{});
  multicasts_.erase(found);
  return {};
}

const Multicast* Memory::find_multicast(Address address) const {
  auto next = multicasts_.upper_bound(address);
  if (next == multicasts_.begin()) return nullptr;
  const Multicast& cast = std::prev(next)->second;
  return address - cast.base < cast.bytes ? &cast : nullptr;
}

bool Memory::valid(Address address, std::uint64_t bytes) const {
  if (bytes == 0) return true;
  const Address last = address + bytes - 1;
  if (last < address || !is_mapped_region(address) || !is_mapped_region(last)) return false;
  for (Address a = address >> kGranuleShift; a <= last >> kGranuleShift; ++a) {
    if ((granule(a << kGranuleShift).flags & Granule::Valid) == 0) return false;
  }
  return true;
}

std::optional<Memory::Allocation> Memory::find_allocation(Address address) const {
  if (is_mapped_region(address) && (granule(address).flags & Granule::Valid) != 0) {
    address = canonical(address);
  }
  const Region* region = region_of(address);
  if (region == nullptr) return std::nullopt;
  auto next = region->used.upper_bound(address - region->base);
  if (next == region->used.begin()) return std::nullopt;
  const auto [offset, bytes] = *std::prev(next);
  if (address - region->base - offset >= bytes) return std::nullopt;
  return Allocation{region->base + offset, bytes};
}

std::uint64_t Memory::allocated_bytes(unsigned device) const {
  return device < devices_.size() ? devices_[device].used_bytes : 0;
}

const Memory::Region* Memory::region_of(Address address) const {
  if (address >= kDeviceBase && address < kDeviceBase + devices_.size() * kDeviceStride) {
    return &devices_[(address - kDeviceBase) / kDeviceStride];
  }
  if (address >= kHostBase && address < kMapEnd) {
    const auto found = hosts_.find(static_cast<unsigned>((address - kHostBase) / kHostStride));
    if (found != hosts_.end()) return &found->second;
  }
  return nullptr;
}

Memory::Region* Memory::region_of(Address address) {
  return const_cast<Region*>(std::as_const(*this).region_of(address));
}

void Memory::set_granules(Address start, std::uint64_t bytes, Granule value) {
  const std::uint64_t first = (start - kMapBase) >> kGranuleShift;
  std::fill_n(table_ + first, bytes >> kGranuleShift, value);
}

WatchId Memory::watch(Address address, std::uint64_t bytes, WatchCallback callback) {
  CUCO_ASSERT(bytes != 0);
  const Address start = is_mapped_region(address) ? canonical(address) : address;
  const WatchId id = next_watch_++;
  for (Address line = start >> kLineShift; line <= (start + bytes - 1) >> kLineShift; ++line) {
    watched_lines_[line].push_back(id);
  }
  watches_.emplace(id, Watch{start, bytes, std::move(callback)});
  return id;
}

void Memory::unwatch(WatchId id) {
  const auto found = watches_.find(id);
  if (found == watches_.end()) return;
  const Watch& watch = found->second;
  for (Address line = watch.address >> kLineShift;
       line <= (watch.address + watch.bytes - 1) >> kLineShift; ++line) {
    const auto at_line = watched_lines_.find(line);
    std::erase(at_line->second, id);
    if (at_line->second.empty()) watched_lines_.erase(at_line);
  }
  watches_.erase(found);
}

void Memory::notify_watchers(Address address, std::uint64_t bytes, VTime when) {
  if (bytes == 0 || !is_mapped_region(address)) return;
  // Canonical addresses are contiguous only within a granule.
  while (bytes != 0) {
    const std::uint64_t chunk = std::min(bytes, kGranule - (address & (kGranule - 1)));
    notify_chunk(canonical(address), chunk, when);
    address += chunk;
    bytes -= chunk;
  }
}

void Memory::notify_chunk(Address start, std::uint64_t bytes, VTime when) {
  std::vector<WatchId> hit;
  const auto consider = [&](const std::vector<WatchId>& ids) {
    for (const WatchId id : ids) {
      const Watch& watch = watches_.at(id);
      if (watch.address < start + bytes && start < watch.address + watch.bytes) hit.push_back(id);
    }
  };
  const Address first = start >> kLineShift;
  const Address last = (start + bytes - 1) >> kLineShift;
  if (last - first < watched_lines_.size()) {
    for (Address line = first; line <= last; ++line) {
      if (const auto found = watched_lines_.find(line); found != watched_lines_.end()) {
        consider(found->second);
      }
    }
  } else {  // A large copy: fewer watched lines than written ones.
    for (const auto& [id, watch] : watches_)
      consider({id});
  }
  std::sort(hit.begin(), hit.end());
  hit.erase(std::unique(hit.begin(), hit.end()), hit.end());
  for (const WatchId id : hit) {
    const auto found = watches_.find(id);
    if (found == watches_.end()) continue;
    const WatchCallback callback = found->second.callback;  // It may unwatch itself.
    callback(when);
  }
}

}  // namespace cuco::vgpu
