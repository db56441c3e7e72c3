// SPDX-License-Identifier: Apache-2.0
#include "system/os/symbols.h"

#include <dlfcn.h>

namespace cuco::system {

bool is_library_symbol(const std::string& name) {
  return ::dlsym(RTLD_DEFAULT, name.c_str()) != nullptr;
}

}  // namespace cuco::system
