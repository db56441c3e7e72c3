// SPDX-License-Identifier: Apache-2.0
// Functions by name and version.
#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include <dlfcn.h>

#include "shims/cudriver/driver.h"

using namespace cuco::cudriver;  // NOLINT(google-build-using-namespace): the ABI is global

namespace {

enum Status : int { kFound = 0, kUnknownName = 1, kVersionTooOld = 2 };
constexpr unsigned long long kPerThreadStream = 2;  // CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM

/// Functions whose parameters changed: from which CUDA a suffix is meant. Newest first. All others
/// are the newest there is.
struct Version {
  std::string_view name;
  int since;
  std::string_view suffix;
};
constexpr std::array kVersions = {
    Version{"cuCtxCreate", 12050, "_v4"},
    Version{"cuCtxCreate", 11040, "_v3"},
    Version{"cuCtxCreate", 0, "_v2"},
    Version{"cuCtxGetDevice", 13000, "_v2"},
    Version{"cuCtxGetDevice", 0, ""},
    Version{"cuCtxSynchronize", 13000, "_v2"},
    Version{"cuCtxSynchronize", 0, ""},
    Version{"cuMemAdvise", 12020, "_v2"},
    Version{"cuMemAdvise", 0, ""},
    Version{"cuMemPrefetchAsync", 12020, "_v2"},
    Version{"cuMemPrefetchAsync", 0, ""},
    Version{"cuGetProcAddress", 12000, "_v2"},
    Version{"cuGetProcAddress", 0, ""},
    Version{"cuStreamGetCaptureInfo", 12030, "_v3"},
    Version{"cuStreamGetCaptureInfo", 11030, "_v2"},
    Version{"cuStreamGetCaptureInfo", 0, ""},
    Version{"cuStreamUpdateCaptureDependencies", 12030, "_v2"},
    Version{"cuStreamUpdateCaptureDependencies", 0, ""},
    Version{"cuGraphAddNode", 12030, "_v2"},
    Version{"cuGraphAddNode", 0, ""},
    Version{"cuGraphAddDependencies", 12030, "_v2"},
    Version{"cuGraphAddDependencies", 0, ""},
    Version{"cuGraphRemoveDependencies", 12030, "_v2"},
    Version{"cuGraphRemoveDependencies", 0, ""},
    Version{"cuGraphGetEdges", 12030, "_v2"},
    Version{"cuGraphGetEdges", 0, ""},
    Version{"cuGraphNodeGetDependencies", 12030, "_v2"},
    Version{"cuGraphNodeGetDependencies", 0, ""},
    Version{"cuGraphNodeGetDependentNodes", 12030, "_v2"},
    Version{"cuGraphNodeGetDependentNodes", 0, ""},
    Version{"cuGraphExecUpdate", 12000, "_v2"},
    Version{"cuGraphExecUpdate", 0, ""},
    Version{"cuStreamGetCtx", 12050, "_v2"},
    Version{"cuStreamGetCtx", 0, ""},
    // What is called cuGraphInstantiate since CUDA 12 was cuGraphInstantiateWithFlags.
    Version{"cuGraphInstantiate", 12000, "WithFlags"},
    Version{"cuGraphInstantiate", 0, "_v2"},
};

/// This library's function of exactly this name.
void* own(const std::string& name) {
  static void* const self = [] {
    Dl_info info{};
    ::dladdr(reinterpret_cast<const void*>(&own), &info);
    return ::dlopen(info.dli_fname, RTLD_NOW | RTLD_NOLOAD);
  }();
  return self == nullptr ? nullptr : ::dlsym(self, name.c_str());
}

void* with_stream(const std::string& name, bool per_thread) {
  if (per_thread) {
    for (const char* suffix : {"_ptsz", "_ptds"}) {
      if (void* found = own(name + suffix)) return found;
    }
  }
  return own(name);
}

void* find(const std::string& name, int version, bool per_thread) {
  const auto meant = std::find_if(kVersions.begin(), kVersions.end(), [&](const Version& one) {
    return one.name == name && version >= one.since;
  });
  if (meant != kVersions.end()) return with_stream(name + std::string(meant->suffix), per_thread);
  for (const char* suffix : {"_v4", "_v3", "_v2", ""}) {
    if (void* found = with_stream(name + suffix, per_thread)) return found;
  }
  return nullptr;
}

}  // namespace

CUCO_DRIVER Error cuGetProcAddress_v2(
    const char* name, void** function, int version, unsigned long long flags, int* status) {
  if (name == nullptr || function == nullptr) return kInvalidValue;
  const bool is_driver_name = std::string_view(name).starts_with("cu");
  *function = is_driver_name ? find(name, version, (flags & kPerThreadStream) != 0) : nullptr;
  if (status != nullptr) *status = *function != nullptr ? kFound : kUnknownName;
  return *function != nullptr || status != nullptr ? 0 : kNotFound;
}
CUCO_DRIVER Error cuGetProcAddress(const char* name,
                                   void** function,
                                   int version,
                                   unsigned long long flags) {
  return cuGetProcAddress_v2(name, function, version, flags, nullptr);
}

// Private tables of NVIDIA's own libraries: a runtime that is linked statically, cuBLAS, cuDNN.
// NVRTC asks as well, but can do without.
CUCO_DRIVER Error cuGetExportTable(const void** table, const void* /*id*/) {
  if (table != nullptr) *table = nullptr;
  Dl_info caller{};
  const bool is_known = ::dladdr(__builtin_return_address(0), &caller) != 0;
  const std::string_view path = is_known ? caller.dli_fname : "this program";
  if (path.find("nvrtc") == std::string_view::npos) {
    const std::string name(path.substr(path.rfind('/') + 1));
    (void)unsupported((name + ", which needs NVIDIA's own driver (cuGetExportTable),").c_str());
  }
  return kNotFound;
}
