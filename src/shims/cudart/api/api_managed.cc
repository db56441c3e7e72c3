// SPDX-License-Identifier: Apache-2.0
// Hints about managed memory. It is one memory for host and devices here, so there is nothing to
// move; the hints are remembered for those who ask.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <map>
#include <mutex>
#include <optional>
#include <set>

#include "shims/cudart/host_memory.h"
#include "shims/cudart/runtime.h"
#include "shims/wire/status.h"

using namespace cuco::cudart;  // NOLINT(google-build-using-namespace): the ABI is global
namespace wire = cuco::wire;

namespace {

constexpr int kCpu = -1;      // cudaCpuDeviceId
constexpr int kNowhere = -2;  // cudaInvalidDeviceId
constexpr int kOnDevice = 1;  // cudaMemLocationTypeDevice

struct Hints {
  bool read_mostly = false;
  MemoryLocation preferred{0, kNowhere};
  MemoryLocation prefetched{0, kNowhere};
  std::set<int> accessed_by;
};

int id_of(const MemoryLocation& location) {
  if (location.type == 0) return kNowhere;
  return location.type == kOnDevice ? location.id : kCpu;
}

/// Hints by range: each entry holds from its address to that of the next.
class HintMap {
 public:
  template <typename Change>
  void change(std::uintptr_t begin, std::size_t bytes, Change change) {
    const std::lock_guard lock(mutex_);
    split(begin + bytes);
    for (auto at = split(begin); at != map_.end() && at->first < begin + bytes; ++at)
      change(at->second);
  }
  /// What `ask` says of every part of the range; nullopt if they differ.
  template <typename Ask>
  auto agreed(std::uintptr_t begin, std::size_t bytes, Ask ask)
      -> std::optional<decltype(ask(std::declval<const Hints&>()))> {
    const std::lock_guard lock(mutex_);
    auto at = split(begin);
    const auto first = ask(at->second);
    for (; at != map_.end() && at->first < begin + bytes; ++at) {
      if (ask(at->second) != first) return std::nullopt;
    }
    return first;
  }

 private:
  /// The entry that begins there, made if need be.
  std::map<std::uintptr_t, Hints>::iterator split(std::uintptr_t at) {
    const auto after = map_.upper_bound(at);
    if (after == map_.begin()) return map_.emplace(at, Hints{}).first;
    const auto before = std::prev(after);
    return before->first == at ? before : map_.emplace(at, before->second).first;
  }
  std::mutex mutex_;
  std::map<std::uintptr_t, Hints> map_;
};

/// Never destroyed: static destructors of the program still call us.
HintMap& hints() {
  static HintMap* const instance = new HintMap;
  return *instance;
}

Error advise(std::uintptr_t at, std::size_t bytes, int advice, const MemoryLocation& where) {
  switch (advice) {
    case 1:
    case 2:
      hints().change(at, bytes, [&](Hints& h) { h.read_mostly = advice == 1; });
      return 0;
    case 3:
      hints().change(at, bytes, [&](Hints& h) { h.preferred = where; });
      return 0;
    case 4:
      hints().change(at, bytes, [&](Hints& h) { h.preferred = {0, kNowhere}; });
      return 0;
    case 5:
      hints().change(at, bytes, [&](Hints& h) { h.accessed_by.insert(id_of(where)); });
      return 0;
    case 6:
      hints().change(at, bytes, [&](Hints& h) { h.accessed_by.erase(id_of(where)); });
      return 0;
    default:
      return wire::kInvalidValue;
  }
}

Error accessed_by(int* out, std::size_t count, std::uintptr_t at, std::size_t bytes) {
  const auto ids = hints().agreed(at, bytes, [](const Hints& h) { return h.accessed_by; });
  std::fill_n(out, count, kNowhere);
  if (ids) std::copy_n(ids->begin(), std::min(count, ids->size()), out);
  return 0;
}

Error query(void* data, std::size_t room, int attribute, std::uintptr_t at, std::size_t bytes) {
  if (data == nullptr || room < sizeof(int) || room % sizeof(int) != 0) return wire::kInvalidValue;
  if (attribute == 3) return accessed_by(static_cast<int*>(data), room / sizeof(int), at, bytes);
  const auto read = [&](const Hints& h) -> int {
    switch (attribute) {
      case 1:
        return h.read_mostly ? 1 : 0;
      case 2:
        return id_of(h.preferred);
      case 4:
        return id_of(h.prefetched);
      case 5:
        return h.preferred.type;
      case 6:
        return h.preferred.id;
      case 7:
        return h.prefetched.type;
      default:
        return h.prefetched.id;
    }
  };
  if (attribute < 1 || attribute > 8 || room != sizeof(int)) return wire::kInvalidValue;
  const bool says_type = attribute == 5 || attribute == 7;
  const int value =
      hints().agreed(at, bytes, read).value_or(attribute == 1 || says_type ? 0 : kNowhere);
  std::memcpy(data, &value, sizeof value);
  return 0;
}

Error check(const void* pointer, std::size_t bytes) {
  if (const Error status = refused(); status != 0) return status;
  return bytes != 0 && is_server_address(pointer) ? 0 : Error{wire::kInvalidValue};
}

}  // namespace

CUCO_CUDART Error cudaMemAdvise(const void* pointer,
                                std::size_t bytes,
                                int advice,
                                MemoryLocation location) {
  if (const Error status = check(pointer, bytes); status != 0) return done(status);
  return done(advise(reinterpret_cast<std::uintptr_t>(pointer), bytes, advice, location));
}

CUCO_CUDART Error cudaMemPrefetchAsync(const void* pointer,
                                       std::size_t bytes,
                                       MemoryLocation location,
                                       unsigned flags,
                                       StreamHandle /*stream*/) {
  if (flags != 0) return done(wire::kInvalidValue);
  if (const Error status = check(pointer, bytes); status != 0) return done(status);
  if (location.type == kOnDevice && cluster_device(location.id) < 0) {
    return done(wire::kInvalidDevice);
  }
  hints().change(reinterpret_cast<std::uintptr_t>(pointer), bytes,
                 [&](Hints& h) { h.prefetched = location; });
  return 0;
}

CUCO_CUDART Error cudaMemPrefetchAsync_ptsz(const void* pointer,
                                            std::size_t bytes,
                                            MemoryLocation location,
                                            unsigned flags,
                                            StreamHandle stream) {
  return cudaMemPrefetchAsync(pointer, bytes, location, flags, stream);
}

CUCO_CUDART Error cudaMemRangeGetAttribute(
    void* data, std::size_t room, int attribute, const void* pointer, std::size_t bytes) {
  if (const Error status = check(pointer, bytes); status != 0) return done(status);
  return done(query(data, room, attribute, reinterpret_cast<std::uintptr_t>(pointer), bytes));
}

CUCO_CUDART Error cudaMemRangeGetAttributes(void** data,
                                            std::size_t* rooms,
                                            const int* attributes,
                                            std::size_t count,
                                            const void* pointer,
                                            std::size_t bytes) {
  if (data == nullptr || rooms == nullptr || attributes == nullptr || count == 0) {
    return done(wire::kInvalidValue);
  }
  for (std::size_t i = 0; i < count; ++i) {
    const Error status = cudaMemRangeGetAttribute(data[i], rooms[i], attributes[i], pointer, bytes);
    if (status != 0) return status;
  }
  return 0;
}
