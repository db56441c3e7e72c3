// SPDX-License-Identifier: Apache-2.0
// Code loaded by hand: cudaLibrary.
#include <cstdio>
#include <cstring>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "cudart/registry.h"
#include "cudart/runtime.h"
#include "wire/messages_module.h"

using namespace cuco::cudart;  // NOLINT(google-build-using-namespace): the ABI is global
namespace wire = cuco::wire;

namespace {

/// A library owns a copy of its code: the caller may free what it handed over.
struct Library {
  std::vector<std::byte> bytes;
  CodeModule* module = nullptr;
  std::vector<Kernel*> kernels;
};

Error open(LibraryHandle* handle, std::vector<std::byte> bytes) {
  auto library = std::make_unique<Library>();
  library->bytes = std::move(bytes);
  library->module = add_module({{library->bytes.data(), library->bytes.size()}});
  if (const Error status = load(*library->module); status != 0) return status;
  wire::ListFunctions::Reply reply;
  wire::Bytes tail;
  const Error status =
      call(wire::ListFunctions{.module = library->module->number}, &reply, {}, &tail);
  if (status != 0) return status;
  std::string_view names = wire::text_of(tail);
  for (std::uint32_t i = 0; i < reply.count; ++i) {
    const std::size_t end = names.find('\0');
    if (end == std::string_view::npos) break;
    library->kernels.push_back(
        add_kernel(library->module, std::string(names.substr(0, end)), nullptr));
    names.remove_prefix(end + 1);
  }
  *handle = reinterpret_cast<LibraryHandle>(library.release());
  return 0;
}

Library& library_of(LibraryHandle handle) {
  return *reinterpret_cast<Library*>(handle);
}

/// The size of an image says itself: a fat binary's header, or the end of PTX text.
std::vector<std::byte> copy_image(const void* code) {
  const auto* bytes = static_cast<const std::byte*>(code);
  std::uint32_t magic = 0;
  std::memcpy(&magic, code, sizeof magic);
  if (magic == 0x466243B1) {
    const auto images = images_of(code);
    if (images.empty()) return {};
    return {images.front().first, images.front().first + images.front().second};
  }
  if (magic == 0xBA55ED50) {
    std::uint16_t header = 0;
    std::uint64_t size = 0;
    std::memcpy(&header, bytes + 6, sizeof header);
    std::memcpy(&size, bytes + 8, sizeof size);
    return {bytes, bytes + header + size};
  }
  return {bytes, bytes + std::strlen(static_cast<const char*>(code)) + 1};
}

}  // namespace

// NOLINTBEGIN(readability-function-size): CUDA's parameter lists
CUCO_CUDART Error cudaLibraryLoadData(LibraryHandle* library,
                                      const void* code,
                                      int* /*jit_options*/,
                                      void** /*jit_values*/,
                                      unsigned /*jit_count*/,
                                      int* /*options*/,
                                      void** /*values*/,
                                      unsigned /*count*/) {
  if (library == nullptr || code == nullptr) return done(wire::kInvalidValue);
  std::vector<std::byte> bytes = copy_image(code);
  return done(bytes.empty() ? Error{wire::kInvalidKernelImage} : open(library, std::move(bytes)));
}

CUCO_CUDART Error cudaLibraryLoadFromFile(LibraryHandle* library,
                                          const char* file_name,
                                          int* /*jit_options*/,
                                          void** /*jit_values*/,
                                          unsigned /*jit_count*/,
                                          int* /*options*/,
                                          void** /*values*/,
                                          unsigned /*count*/) {
  if (library == nullptr || file_name == nullptr) return done(wire::kInvalidValue);
  std::FILE* file = std::fopen(file_name, "rb");
  if (file == nullptr) return done(301);  // cudaErrorFileNotFound
  std::vector<std::byte> bytes;
  std::byte chunk[65536];
  for (std::size_t got = 0; (got = std::fread(chunk, 1, sizeof chunk, file)) > 0;) {
    bytes.insert(bytes.end(), chunk, chunk + got);
  }
  std::fclose(file);
  return done(open(library, std::move(bytes)));
}
// NOLINTEND(readability-function-size)

CUCO_CUDART Error cudaLibraryUnload(LibraryHandle library) {
  if (library == nullptr) return done(wire::kInvalidResourceHandle);
  // Kernels of it may be queued: the server keeps what they need, we keep the small rest.
  return done(call(wire::UnloadModule{.module = library_of(library).module->number}));
}

CUCO_CUDART Error cudaLibraryGetKernel(Kernel** kernel, LibraryHandle library, const char* name) {
  if (kernel == nullptr || library == nullptr || name == nullptr) return done(wire::kInvalidValue);
  for (Kernel* one : library_of(library).kernels) {
    if (one->name != name) continue;
    *kernel = one;
    return 0;
  }
  return done(wire::kNamedSymbolNotFound);
}

CUCO_CUDART Error cudaLibraryGetKernelCount(unsigned* count, LibraryHandle library) {
  if (count == nullptr || library == nullptr) return done(wire::kInvalidValue);
  *count = static_cast<unsigned>(library_of(library).kernels.size());
  return 0;
}

CUCO_CUDART Error cudaLibraryEnumerateKernels(Kernel** kernels,
                                              unsigned count,
                                              LibraryHandle library) {
  if (kernels == nullptr || library == nullptr) return done(wire::kInvalidValue);
  const auto& all = library_of(library).kernels;
  for (unsigned i = 0; i < count && i < all.size(); ++i)
    kernels[i] = all[i];
  return 0;
}

CUCO_CUDART Error cudaLibraryGetGlobal(void** address,
                                       std::size_t* bytes,
                                       LibraryHandle library,
                                       const char* name) {
  if (library == nullptr || name == nullptr) return done(wire::kInvalidValue);
  DeviceVariable variable{.module = library_of(library).module, .name = name};
  std::uint64_t at = 0;
  std::uint64_t size = 0;
  const Error status = locate(variable, &at, &size);
  if (status != 0) {
    return done(status == wire::kInvalidSymbol ? Error{wire::kNamedSymbolNotFound} : status);
  }
  if (address != nullptr) *address = reinterpret_cast<void*>(at);
  if (bytes != nullptr) *bytes = size;
  return 0;
}
