// SPDX-License-Identifier: Apache-2.0
#include "system/memory/shared_memory.h"

#include <fcntl.h>
#include <sys/mman.h>

#include <utility>

#include "system/os/os_error.h"
#include "system/os/streams.h"

namespace cuco::system {

Result<Fd> create_shared_memory(const std::string& name, std::size_t bytes) {
  Fd memory(::memfd_create(name.c_str(), MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!memory.is_open()) return os_error("memfd_create");
  if (retry([&] { return ::ftruncate(memory.get(), static_cast<off_t>(bytes)); }) != 0) {
    return os_error("resize shared memory");
  }
  return memory;
}

Result<void> seal_contents(const Fd& memory) {
  if (::fcntl(memory.get(), F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK) != 0) {
    return os_error("seal shared memory");
  }
  return {};
}

bool may_shrink(const Fd& memory) {
  const int seals = ::fcntl(memory.get(), F_GET_SEALS);
  return seals < 0 || (static_cast<unsigned>(seals) & F_SEAL_SHRINK) == 0;
}

Result<Mapping> Mapping::map(const Fd& memory, std::size_t bytes, Access access) {
  if (bytes == 0) return Mapping();
  const int protection = access == Access::Read ? PROT_READ : PROT_READ | PROT_WRITE;
  void* address = ::mmap(nullptr, bytes, protection, MAP_SHARED, memory.get(), 0);
  if (address == MAP_FAILED) return os_error("map shared memory");
  return Mapping(std::span(static_cast<std::byte*>(address), bytes));
}

Mapping::Mapping(Mapping&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}

Mapping& Mapping::operator=(Mapping&& other) noexcept {
  std::swap(bytes_, other.bytes_);
  return *this;
}

Mapping::~Mapping() {
  if (!bytes_.empty()) ::munmap(bytes_.data(), bytes_.size());
}

}  // namespace cuco::system
