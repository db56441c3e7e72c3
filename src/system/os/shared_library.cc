// SPDX-License-Identifier: Apache-2.0
#include "system/os/shared_library.h"

#include <dlfcn.h>

namespace cuco::system {

Result<SharedLibrary> SharedLibrary::open(const char* name) {
  void* handle = ::dlopen(name, RTLD_NOW | RTLD_LOCAL);
  if (handle != nullptr) return SharedLibrary(handle);
  const char* why = ::dlerror();
  return Error{ErrorKind::NotFound, why != nullptr ? why : std::string(name) + " cannot be opened"};
}

void* SharedLibrary::address_of(const char* name) const {
  return ::dlsym(handle_.get(), name);
}

void SharedLibrary::Close::operator()(void* handle) const {
  ::dlclose(handle);
}

bool is_library_symbol(const std::string& name) {
  return ::dlsym(RTLD_DEFAULT, name.c_str()) != nullptr;
}

}  // namespace cuco::system
