// SPDX-License-Identifier: Apache-2.0
// A program that compiles at run time and asks for machine code gets the PTX that it was made from:
// that is what the virtual GPU executes, and every loader of machine code takes PTX as well.
#include <cstddef>

#include <dlfcn.h>

namespace {

constexpr int kInternalError = 11;  // NVRTC_ERROR_INTERNAL_ERROR

template <typename Value>
int call_real(const char* name, void* program, Value* value) {
  using Function = int (*)(void*, Value*);
  const auto real = reinterpret_cast<Function>(::dlsym(RTLD_NEXT, name));
  return real != nullptr ? real(program, value) : kInternalError;
}

}  // namespace

extern "C" __attribute__((visibility("default"))) int nvrtcGetCUBINSize(void* program,
                                                                        std::size_t* bytes) {
  return call_real("nvrtcGetPTXSize", program, bytes);
}
extern "C" __attribute__((visibility("default"))) int nvrtcGetCUBIN(void* program, char* code) {
  return call_real("nvrtcGetPTX", program, code);
}
