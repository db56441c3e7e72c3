// SPDX-License-Identifier: Apache-2.0
// Code loaded at run time. A module is a library of the runtime, a function its kernel.
#include <algorithm>
#include <cstring>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "shims/cudriver/driver.h"
#include "shims/cudriver/runtime_calls.h"

using namespace cuco::cudriver;  // NOLINT(google-build-using-namespace): the ABI is global

namespace {

// CUjit_option
constexpr int kInfoLogBytes = 4;
constexpr int kErrorLogBuffer = 5;
constexpr int kErrorLogBytes = 6;
constexpr int kInfoLogBuffer = 3;

/// What cuLinkComplete hands out: code that holds several images. cuModuleLoadData knows it.
constexpr char kLinkedMagic[8] = {'c', 'u', 'c', 'o', 'l', 'i', 'n', 'k'};

struct Image {
  std::vector<std::byte> bytes;
};

struct Linker {
  std::vector<Image> images;
  std::vector<std::byte> linked;
};

/// The logs that the caller wants: texts of nothing, or of one line.
struct Logs {
  unsigned count = 0;
  const int* options = nullptr;
  void** values = nullptr;

  void say(const char* error) const {
    for (unsigned i = 0; i < count && options != nullptr && values != nullptr; ++i) {
      if (options[i] != kErrorLogBuffer && options[i] != kInfoLogBuffer) continue;
      const int size_option = options[i] == kErrorLogBuffer ? kErrorLogBytes : kInfoLogBytes;
      const auto* size = std::find(options, options + count, size_option);
      auto* buffer = static_cast<char*>(values[i]);
      if (buffer == nullptr || size == options + count) continue;
      void*& bytes = values[size - options];
      const std::size_t room = reinterpret_cast<std::size_t>(bytes);
      if (room == 0) continue;
      const std::string text = options[i] == kErrorLogBuffer ? error : "";
      const std::size_t length = std::min(text.size(), room - 1);
      std::memcpy(buffer, text.data(), length);
      buffer[length] = '\0';
      bytes = reinterpret_cast<void*>(length);
    }
  }
};

bool read_file(const char* name, std::vector<std::byte>& bytes) {
  std::ifstream file(name, std::ios::binary | std::ios::ate);
  if (!file) return false;
  bytes.resize(static_cast<std::size_t>(file.tellg()) + 1);  // PTX is text, and ends with 0
  file.seekg(0);
  file.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(bytes.size() - 1));
  return file.good();
}

Error load_images(LibraryHandle* module,
                  const std::vector<std::pair<const void*, std::size_t>>& all) {
  std::vector<const void*> images;
  std::vector<std::size_t> bytes;
  for (const auto& [image, size] : all) {
    images.push_back(image);
    bytes.push_back(size);
  }
  return result_of(
      cucoLoadImages(module, images.data(), bytes.data(), static_cast<unsigned>(images.size())));
}

std::vector<std::pair<const void*, std::size_t>> linked_images(const void* code) {
  std::vector<std::pair<const void*, std::size_t>> images;
  const auto* at = static_cast<const std::byte*>(code) + sizeof kLinkedMagic;
  std::uint64_t bytes = 0;
  for (std::memcpy(&bytes, at, sizeof bytes); bytes != 0; std::memcpy(&bytes, at, sizeof bytes)) {
    images.emplace_back(at + sizeof bytes, bytes);
    at += sizeof bytes + bytes;
  }
  return images;
}

Error load(LibraryHandle* module, const void* code, const Logs& logs) {
  if (const Error status = ready(); status != 0) return status;
  if (module == nullptr || code == nullptr) return kInvalidValue;
  const bool is_linked =
      std::strncmp(static_cast<const char*>(code), kLinkedMagic, sizeof kLinkedMagic) == 0;
  const Error status =
      is_linked ? load_images(module, linked_images(code)) : result_of(cucoLoadCode(module, code));
  logs.say(status == 0 ? "" : "cuco: the virtual GPU does not take this code; see standard error");
  return status;
}

Error add(Linker* linker, std::vector<std::byte> bytes) {
  if (linker == nullptr || bytes.empty()) return kInvalidValue;
  linker->images.push_back({std::move(bytes)});
  return 0;
}

}  // namespace

CUCO_DRIVER Error cuModuleLoadDataEx(
    LibraryHandle* module, const void* code, unsigned count, const int* options, void** values) {
  return load(module, code, {count, options, values});
}
CUCO_DRIVER Error cuModuleLoadData(LibraryHandle* module, const void* code) {
  return load(module, code, {});
}
CUCO_ALIAS(cuModuleLoadFatBinary, cuModuleLoadData);

CUCO_DRIVER Error cuModuleLoad(LibraryHandle* module, const char* file_name) {
  if (const Error status = ready(); status != 0) return status;
  std::vector<std::byte> bytes;
  if (module == nullptr || file_name == nullptr) return kInvalidValue;
  if (!read_file(file_name, bytes)) return 301;  // CUDA_ERROR_FILE_NOT_FOUND
  return load_images(module, {{bytes.data(), bytes.size()}});
}

CUCO_DRIVER Error cuModuleUnload(LibraryHandle module) {
  if (const Error status = ready(); status != 0) return status;
  return result_of(cudaLibraryUnload(module));
}

CUCO_DRIVER Error cuModuleGetFunction(KernelHandle* function,
                                      LibraryHandle module,
                                      const char* name) {
  if (const Error status = ready(); status != 0) return status;
  return result_of(cudaLibraryGetKernel(function, module, name));
}
CUCO_DRIVER Error cuModuleGetFunctionCount(unsigned* count, LibraryHandle module) {
  return result_of(cudaLibraryGetKernelCount(count, module));
}
CUCO_DRIVER Error cuModuleEnumerateFunctions(KernelHandle* functions,
                                             unsigned count,
                                             LibraryHandle module) {
  return result_of(cudaLibraryEnumerateKernels(functions, count, module));
}

CUCO_DRIVER Error cuModuleGetGlobal_v2(DevicePointer* address,
                                       std::size_t* bytes,
                                       LibraryHandle module,
                                       const char* name) {
  if (const Error status = ready(); status != 0) return status;
  void* at = nullptr;
  const Error status = cudaLibraryGetGlobal(&at, bytes, module, name);
  if (status == 0 && address != nullptr) *address = reinterpret_cast<DevicePointer>(at);
  return result_of(status);
}
CUCO_ALIAS(cuModuleGetGlobal, cuModuleGetGlobal_v2);

CUCO_DRIVER Error cuModuleGetLoadingMode(int* mode) {
  if (mode == nullptr) return kInvalidValue;
  *mode = 2;  // CU_MODULE_LAZY_LOADING
  return 0;
}

// Kernels of libraries and functions of modules are the same here.
CUCO_DRIVER Error cuKernelGetFunction(KernelHandle* function, KernelHandle kernel) {
  if (function == nullptr || kernel == nullptr) return kInvalidValue;
  *function = kernel;
  return 0;
}
CUCO_DRIVER Error cuLibraryGetModule(LibraryHandle* module, LibraryHandle library) {
  if (module == nullptr || library == nullptr) return kInvalidValue;
  *module = library;
  return 0;
}
CUCO_DRIVER Error cuFuncLoad(KernelHandle function) {
  return function == nullptr ? kInvalidValue : 0;
}
CUCO_DRIVER Error cuFuncIsLoaded(int* state, KernelHandle function) {
  if (state == nullptr || function == nullptr) return kInvalidValue;
  *state = 1;  // CU_FUNCTION_LOADING_STATE_LOADED
  return 0;
}

CUCO_DRIVER Error cuLinkCreate_v2(unsigned count,
                                  const int* options,
                                  void** values,
                                  Linker** linker) {
  if (const Error status = ready(); status != 0) return status;
  if (linker == nullptr) return kInvalidValue;
  *linker = new Linker;
  Logs{count, options, values}.say("");
  return 0;
}
CUCO_ALIAS(cuLinkCreate, cuLinkCreate_v2);
// NOLINTBEGIN(readability-function-size): CUDA's parameter lists
CUCO_DRIVER Error cuLinkAddData_v2(Linker* linker,
                                   int /*type*/,
                                   const void* data,
                                   std::size_t bytes,
                                   const char* /*name*/,
                                   unsigned /*count*/,
                                   const int* /*options*/,
                                   void** /*values*/) {
  const auto* at = static_cast<const std::byte*>(data);
  return add(linker, at == nullptr ? std::vector<std::byte>{} : std::vector(at, at + bytes));
}
CUCO_ALIAS(cuLinkAddData, cuLinkAddData_v2);
CUCO_DRIVER Error cuLinkAddFile_v2(Linker* linker,
                                   int /*type*/,
                                   const char* path,
                                   unsigned /*count*/,
                                   const int* /*options*/,
                                   void** /*values*/) {
  std::vector<std::byte> bytes;
  if (path == nullptr) return kInvalidValue;
  if (!read_file(path, bytes)) return 301;  // CUDA_ERROR_FILE_NOT_FOUND
  return add(linker, std::move(bytes));
}
CUCO_ALIAS(cuLinkAddFile, cuLinkAddFile_v2);
// NOLINTEND(readability-function-size)
CUCO_DRIVER Error cuLinkComplete(Linker* linker, void** code, std::size_t* bytes) {
  if (linker == nullptr || code == nullptr) return kInvalidValue;
  auto& out = linker->linked;
  out.clear();
  const auto append = [&](const void* data, std::size_t size) {
    const auto* from = static_cast<const std::byte*>(data);
    out.insert(out.end(), from, from + size);
  };
  append(kLinkedMagic, sizeof kLinkedMagic);
  for (const Image& image : linker->images) {
    const std::uint64_t size = image.bytes.size();
    append(&size, sizeof size);
    append(image.bytes.data(), image.bytes.size());
  }
  constexpr std::uint64_t kEnd = 0;
  append(&kEnd, sizeof kEnd);
  *code = out.data();
  if (bytes != nullptr) *bytes = out.size();
  return 0;
}
CUCO_DRIVER Error cuLinkDestroy(Linker* linker) {
  delete linker;
  return 0;
}
