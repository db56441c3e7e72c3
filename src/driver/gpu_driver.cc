// SPDX-License-Identifier: Apache-2.0
#include "driver/gpu_driver.h"

#include <string>

#include <dlfcn.h>

namespace cuco::driver {

Result<void> gpu_checked(int code, const char* what) {
  if (code != 0) {
    return Error{ErrorKind::Unavailable,
                 std::string(what) + " failed with CUDA error " + std::to_string(code)};
  }
  return {};
}

Result<GpuDriver> GpuDriver::load() {
  void* library = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
  if (library == nullptr) return Error{ErrorKind::Unavailable, "there is no libcuda.so.1"};
  bool found = true;
  const auto find = [&](const char* name, auto*& function) {
    function =
        reinterpret_cast<std::remove_reference_t<decltype(function)>>(::dlsym(library, name));
    found = found && function != nullptr;
  };
  GpuDriver driver;
  find("cuInit", driver.init);
  find("cuDeviceGetName", driver.name);
  find("cuMemGetAllocationGranularity", driver.granularity);
  find("cuMemCreate", driver.create);
  find("cuMemAddressReserve", driver.reserve);
  find("cuMemMap", driver.map);
  find("cuMemSetAccess", driver.set_access);
  find("cuMemExportToShareableHandle", driver.export_handle);
  find("cuMemImportFromShareableHandle", driver.import_handle);
  find("cuModuleLoadData", driver.load_module);
  find("cuModuleGetFunction", driver.get_function);
  find("cuLaunchKernel", driver.launch);
  find("cuCtxSynchronize", driver.synchronize);
  if (!found) return Error{ErrorKind::Unavailable, "libcuda.so.1 is too old"};
  // Nobody has called the runtime yet, which would do it.
  CUCO_TRY(gpu_checked(driver.init(0), "cuInit"));
  return driver;
}

}  // namespace cuco::driver
