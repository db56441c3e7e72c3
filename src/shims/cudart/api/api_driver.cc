// SPDX-License-Identifier: Apache-2.0
// The way to the driver API: libcuda.so.1, which lies next to this library.
#include <string>

#include <dlfcn.h>

#include "shims/cudart/runtime.h"
#include "shims/wire/status.h"

using namespace cuco::cudart;  // NOLINT(google-build-using-namespace): the ABI is global
namespace wire = cuco::wire;

// NOLINTNEXTLINE(readability-redundant-declaration): its address says where this library lies
CUCO_CUDART Error
cudaGetDriverEntryPointByVersion(const char*, void**, unsigned, unsigned long long, int*);

namespace {

constexpr int kSymbolNotFound = 1;  // cudaDriverEntryPointSymbolNotFound
constexpr unsigned kThisVersion = 13000;
constexpr unsigned long long kPerThreadStream = 2;

using GetAddress = Error (*)(const char*, void**, int, unsigned long long, int*);

/// cuGetProcAddress of the library next to this one; null: it is not there.
GetAddress driver() {
  static const GetAddress found = [] {
    Dl_info info{};
    ::dladdr(reinterpret_cast<const void*>(&cudaGetDriverEntryPointByVersion), &info);
    const std::string self = info.dli_fname != nullptr ? info.dli_fname : "";
    const std::string path = self.substr(0, self.rfind('/') + 1) + "libcuda.so.1";
    void* library = ::dlopen(path.c_str(), RTLD_NOW);
    return library == nullptr
               ? nullptr
               : reinterpret_cast<GetAddress>(::dlsym(library, "cuGetProcAddress_v2"));
  }();
  return found;
}

Error find(
    const char* symbol, void** function, unsigned version, unsigned long long flags, int* result) {
  if (symbol == nullptr || function == nullptr) return wire::kInvalidValue;
  *function = nullptr;
  int status = kSymbolNotFound;
  if (const GetAddress get = driver()) {
    (void)get(symbol, function, static_cast<int>(version), flags, &status);
  }
  // Not to find a name is an answer, not an error, to those who ask for it.
  if (result == nullptr) return *function != nullptr ? 0 : Error{wire::kNamedSymbolNotFound};
  *result = status;
  return 0;
}

}  // namespace

CUCO_CUDART Error cudaGetDriverEntryPoint(const char* symbol,
                                          void** function,
                                          unsigned long long flags,
                                          int* result) {
  return done(find(symbol, function, kThisVersion, flags, result));
}
CUCO_CUDART Error cudaGetDriverEntryPoint_ptsz(const char* symbol,
                                               void** function,
                                               unsigned long long flags,
                                               int* result) {
  return done(find(symbol, function, kThisVersion, flags | kPerThreadStream, result));
}
CUCO_CUDART Error cudaGetDriverEntryPointByVersion(
    const char* symbol, void** function, unsigned version, unsigned long long flags, int* result) {
  return done(find(symbol, function, version, flags, result));
}
CUCO_CUDART Error cudaGetDriverEntryPointByVersion_ptsz(
    const char* symbol, void** function, unsigned version, unsigned long long flags, int* result) {
  return done(find(symbol, function, version, flags | kPerThreadStream, result));
}

/// cudaChannelFormatDesc: bits of x, y, z, w and the kind.
struct ChannelFormat {
  int bits[4];
  int kind;
};
CUCO_CUDART ChannelFormat cudaCreateChannelDesc(int x, int y, int z, int w, int kind) {
  return {{x, y, z, w}, kind};
}
