// SPDX-License-Identifier: Apache-2.0
// Code loaded by hand: cudaLibrary.
#include <cstring>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "shims/cudart/driver_port.h"
#include "shims/cudart/registry.h"
#include "shims/cudart/runtime.h"
#include "shims/wire/messages_module.h"

using namespace cuco::cudart;  // NOLINT(google-build-using-namespace): the ABI is global
namespace wire = cuco::wire;

namespace {

/// A library owns a copy of its code: the caller may free what it handed over.
struct Library {
  std::vector<std::vector<std::byte>> images;
  CodeModule* module = nullptr;
  std::vector<Kernel*> kernels;
};

Error open(LibraryHandle* handle, std::vector<std::vector<std::byte>> images) {
  auto library = std::make_unique<Library>();
  library->images = std::move(images);
  std::vector<std::pair<const std::byte*, std::size_t>> parts;
  for (const auto& image : library->images)
    parts.emplace_back(image.data(), image.size());
  library->module = add_module(std::move(parts));
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

template <typename Number>
Number number_at(const std::byte* bytes, std::size_t offset) {
  Number value{};
  std::memcpy(&value, bytes + offset, sizeof value);
  return value;
}

/// The size of an image says itself: the header of a fat binary or of an ELF file, whose table of
/// sections is its end, or the end of PTX text.
std::size_t image_bytes(const std::byte* bytes) {
  switch (number_at<std::uint32_t>(bytes, 0)) {
    case 0xBA55ED50:
      return number_at<std::uint16_t>(bytes, 6) + number_at<std::uint64_t>(bytes, 8);
    case 0x464C457F: {
      const auto sections = number_at<std::uint64_t>(bytes, 40);
      return sections +
             std::size_t{number_at<std::uint16_t>(bytes, 58)} * number_at<std::uint16_t>(bytes, 60);
    }
    default:
      return std::strlen(reinterpret_cast<const char*>(bytes)) + 1;
  }
}

/// The images of code as a program hands it over: one, or those of nvcc's wrapper.
std::vector<std::vector<std::byte>> copy_images(const void* code) {
  const auto* bytes = static_cast<const std::byte*>(code);
  std::vector<std::vector<std::byte>> copies;
  if (number_at<std::uint32_t>(bytes, 0) != 0x466243B1) {
    copies.emplace_back(bytes, bytes + image_bytes(bytes));
    return copies;
  }
  for (const auto& [data, size] : images_of(code))
    copies.emplace_back(data, data + size);
  return copies;
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
  auto images = copy_images(code);
  return done(images.empty() ? Error{wire::kInvalidKernelImage} : open(library, std::move(images)));
}

CUCO_CUDART Error cucoLoadImages(LibraryHandle* library,
                                 const void* const* images,
                                 const std::size_t* bytes,
                                 unsigned count) {
  std::vector<std::vector<std::byte>> copies;
  for (unsigned i = 0; i < count; ++i) {
    const auto* from = static_cast<const std::byte*>(images[i]);
    copies.emplace_back(from, from + bytes[i]);
  }
  return open(library, std::move(copies));
}

CUCO_CUDART Error cucoLoadCode(LibraryHandle* library, const void* code) {
  auto images = copy_images(code);
  return images.empty() ? Error{wire::kInvalidKernelImage} : open(library, std::move(images));
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
  std::ifstream file(file_name, std::ios::binary | std::ios::ate);
  if (!file) return done(301);  // cudaErrorFileNotFound
  std::vector<std::byte> bytes(static_cast<std::size_t>(file.tellg()));
  file.seekg(0);
  file.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  std::vector<std::vector<std::byte>> images;
  images.push_back(std::move(bytes));
  return done(open(library, std::move(images)));
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
