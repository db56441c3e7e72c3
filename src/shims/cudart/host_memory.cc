// SPDX-License-Identifier: Apache-2.0
#include "shims/cudart/host_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <map>
#include <mutex>
#include <utility>

namespace cuco::cudart {
namespace {

constexpr std::size_t kPage = 4096;

struct Registered {
  std::size_t bytes = 0;     ///< As asked for.
  std::uintptr_t pages = 0;  ///< First page.
  std::size_t page_bytes = 0;
  std::uint64_t alias = 0;  ///< Of the first page.
  unsigned flags = 0;
};

struct State {
  std::mutex mutex;
  int fd = -1;
  std::uint64_t device_base = 0;
  std::uint64_t device_end = 0;
  std::uint64_t host_base = 0;
  std::uint64_t host_bytes = 0;
  std::map<std::uintptr_t, Registered> registered;
};

State& state() {
  static State* const instance = new State;
  return *instance;
}

std::uintptr_t page_of(const void* pointer) {
  return reinterpret_cast<std::uintptr_t>(pointer) / kPage * kPage;
}

void reserve(std::uint64_t base, std::uint64_t bytes) {
  // Failing is no harm: the range is then used by the program, and the server refuses it.
  (void)!::mmap(reinterpret_cast<void*>(base), bytes, PROT_NONE,
                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
}

const std::pair<const std::uintptr_t, Registered>* find_registered(const void* pointer) {
  const auto address = reinterpret_cast<std::uintptr_t>(pointer);
  auto& registered = state().registered;
  auto after = registered.upper_bound(address);
  if (after == registered.begin()) return nullptr;
  --after;
  return address - after->first < after->second.bytes ? &*after : nullptr;
}

}  // namespace

void reserve_memory(const wire::Hello::Reply& identity, wire::Fd host_memory) {
  State& here = state();
  const std::lock_guard lock(here.mutex);
  if (here.fd >= 0) ::close(here.fd);
  here.fd = host_memory.release();
  here.device_base = identity.device_base;
  here.device_end = identity.device_end;
  here.host_base = identity.host_base;
  here.host_bytes = identity.host_bytes;
  reserve(here.device_base, here.device_end - here.device_base);
  reserve(here.host_base, here.host_bytes);
}

bool map_host_memory(std::uint64_t address, std::size_t bytes) {
  State& here = state();
  if (address < here.host_base || address - here.host_base >= here.host_bytes) return false;
  void* at = ::mmap(reinterpret_cast<void*>(address), (bytes + kPage - 1) / kPage * kPage,
                    PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, here.fd,
                    static_cast<off_t>(address - here.host_base));
  return at != MAP_FAILED;
}

void unmap_host_memory(std::uint64_t address, std::size_t bytes) {
  (void)!::mmap(reinterpret_cast<void*>(address), (bytes + kPage - 1) / kPage * kPage, PROT_NONE,
                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
}

bool is_device_address(const void* pointer) {
  const auto address = reinterpret_cast<std::uint64_t>(pointer);
  return address >= state().device_base && address < state().device_end;
}

bool is_server_address(const void* pointer) {
  const auto address = reinterpret_cast<std::uint64_t>(pointer);
  return is_device_address(pointer) || address - state().host_base < state().host_bytes;
}

std::size_t page_span(const void* pointer, std::size_t bytes) {
  const std::uintptr_t first = page_of(pointer);
  const std::uintptr_t end = reinterpret_cast<std::uintptr_t>(pointer) + bytes;
  return (end - first + kPage - 1) / kPage * kPage;
}

bool register_memory(void* pointer, std::size_t bytes, std::uint64_t alias, unsigned flags) {
  State& here = state();
  Registered entry{.bytes = bytes,
                   .pages = page_of(pointer),
                   .page_bytes = page_span(pointer, bytes),
                   .alias = alias,
                   .flags = flags};
  void* pages = reinterpret_cast<void*>(entry.pages);
  // Neighbours on the first and last page move along; they see no difference.
  std::memcpy(reinterpret_cast<void*>(alias), pages, entry.page_bytes);
  const void* at = ::mmap(pages, entry.page_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
                          here.fd, static_cast<off_t>(alias - here.host_base));
  if (at == MAP_FAILED) return false;
  const std::lock_guard lock(here.mutex);
  here.registered[reinterpret_cast<std::uintptr_t>(pointer)] = entry;
  return true;
}

std::optional<std::uint64_t> unregister_memory(void* pointer) {
  State& here = state();
  const std::lock_guard lock(here.mutex);
  const auto found = here.registered.find(reinterpret_cast<std::uintptr_t>(pointer));
  if (found == here.registered.end()) return std::nullopt;
  const Registered entry = found->second;
  here.registered.erase(found);
  // Through a second mapping, so that the pages are never seen empty.
  void* fresh =
      ::mmap(nullptr, entry.page_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (fresh == MAP_FAILED) return entry.alias;
  std::memcpy(fresh, reinterpret_cast<void*>(entry.pages), entry.page_bytes);
  (void)!::mremap(fresh, entry.page_bytes, entry.page_bytes, MREMAP_MAYMOVE | MREMAP_FIXED,
                  reinterpret_cast<void*>(entry.pages));
  return entry.alias;
}

std::optional<std::uint64_t> registered_alias(const void* pointer) {
  State& here = state();
  const std::lock_guard lock(here.mutex);
  const auto* found = find_registered(pointer);
  if (found == nullptr) return std::nullopt;
  return found->second.alias + (reinterpret_cast<std::uintptr_t>(pointer) - found->second.pages);
}

std::optional<unsigned> registered_flags(const void* pointer) {
  State& here = state();
  const std::lock_guard lock(here.mutex);
  const auto* found = find_registered(pointer);
  if (found == nullptr) return std::nullopt;
  return found->second.flags;
}

}  // namespace cuco::cudart
