// SPDX-License-Identifier: Apache-2.0
#include "system/memory/fixed_memory.h"

#include <fcntl.h>
#include <sys/mman.h>

#include "system/os/os_error.h"
#include "system/os/streams.h"

namespace cuco::system {

Result<Fd> create_memory_file(const std::string& name, std::uint64_t bytes) {
  Fd file(::memfd_create(name.c_str(), MFD_CLOEXEC));
  if (!file.is_open()) return os_error("create a memory file");
  if (retry([&] { return ::ftruncate(file.get(), static_cast<off_t>(bytes)); }) != 0) {
    return os_error("size a memory file");
  }
  return file;
}

void discard(int file, std::uint64_t offset, std::uint64_t bytes) {
  (void)::fallocate(file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(offset),
                    static_cast<off_t>(bytes));
}

Result<void> map_at(
    void* address, std::uint64_t bytes, int file, std::uint64_t offset, AtAddress how) {
  const int fixed = how == AtAddress::MustBeFree ? MAP_FIXED_NOREPLACE : MAP_FIXED;
  void* got = ::mmap(address, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE | fixed,
                     file, static_cast<off_t>(offset));
  if (got == MAP_FAILED) return os_error("map memory");
  return {};
}

void unmap(void* address, std::uint64_t bytes) {
  ::munmap(address, bytes);
}

Result<void*> map_zeroed(std::uint64_t bytes) {
  void* got = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (got == MAP_FAILED) return os_error("map memory");
  return got;
}

void ask_for_huge_pages(void* address, std::size_t bytes) {
  (void)::madvise(address, bytes, MADV_HUGEPAGE);
}

}  // namespace cuco::system
