// SPDX-License-Identifier: Apache-2.0
#include "loopback/gpu/driver_calls.h"

#include <string>

#include <dlfcn.h>

#include "loopback/gpu/settings.h"

namespace cuco::loopback {
namespace {

#define CUCO_LOOPBACK_TEXT_OF(x) #x
#define CUCO_LOOPBACK_TEXT(x) CUCO_LOOPBACK_TEXT_OF(x)

Driver load_driver() {
  void* library = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
  if (library == nullptr) {
    give_up(std::string("there is no NVIDIA driver on this machine (") + ::dlerror() +
            "); use --on virtual");
  }
  Driver driver;
  const auto find = [&](const char* name) {
    void* symbol = ::dlsym(library, name);
    if (symbol == nullptr) {
      give_up(std::string("the NVIDIA driver is too old: it has no ") + name +
              "; loopback needs one for CUDA 12.4 or later");
    }
    return symbol;
  };
#define CUCO_LOOPBACK_FIND(name) \
  driver.name = reinterpret_cast<decltype(driver.name)>(find(CUCO_LOOPBACK_TEXT(name)));
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): dlsym's nature.
  CUCO_LOOPBACK_DRIVER(CUCO_LOOPBACK_FIND)
#undef CUCO_LOOPBACK_FIND
  return driver;
}

}  // namespace

const Driver& driver() {
  static const Driver loaded = load_driver();
  return loaded;
}

const char* text_of(CUresult result) {
  const char* text = nullptr;
  if (driver().cuGetErrorString(result, &text) != CUDA_SUCCESS || text == nullptr) return "?";
  return text;
}

void must(CUresult result, const char* what) {
  if (result != CUDA_SUCCESS) give_up(std::string(what) + ": " + text_of(result));
}

}  // namespace cuco::loopback
