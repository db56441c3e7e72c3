// SPDX-License-Identifier: Apache-2.0
// What leads to the driver API, of which there is none.
#include "cudart/runtime.h"
#include "wire/status.h"

using namespace cuco::cudart;  // NOLINT(google-build-using-namespace): the ABI is global
namespace wire = cuco::wire;

namespace {

/// CUDA's answer for a name that it does not know.
Error not_found(const char* symbol, void** function, int* result) {
  constexpr int kSymbolNotFound = 1;  // cudaDriverEntryPointSymbolNotFound
  if (symbol == nullptr || function == nullptr) return wire::kInvalidValue;
  const Error before = thread().last_error;
  (void)unsupported("the driver API (asked for by cudaGetDriverEntryPoint)");
  thread().last_error = before;  // Not to find a name is an answer, not an error.
  *function = nullptr;
  if (result == nullptr) return wire::kNamedSymbolNotFound;
  *result = kSymbolNotFound;
  return 0;
}

}  // namespace

CUCO_CUDART Error cudaGetDriverEntryPoint(const char* symbol,
                                          void** function,
                                          unsigned long long /*flags*/,
                                          int* result) {
  return done(not_found(symbol, function, result));
}
CUCO_CUDART Error cudaGetDriverEntryPoint_ptsz(const char* symbol,
                                               void** function,
                                               unsigned long long /*flags*/,
                                               int* result) {
  return done(not_found(symbol, function, result));
}
CUCO_CUDART Error cudaGetDriverEntryPointByVersion(const char* symbol,
                                                   void** function,
                                                   unsigned /*version*/,
                                                   unsigned long long /*flags*/,
                                                   int* result) {
  return done(not_found(symbol, function, result));
}
CUCO_CUDART Error cudaGetDriverEntryPointByVersion_ptsz(const char* symbol,
                                                        void** function,
                                                        unsigned /*version*/,
                                                        unsigned long long /*flags*/,
                                                        int* result) {
  return done(not_found(symbol, function, result));
}

/// cudaChannelFormatDesc: bits of x, y, z, w and the kind.
struct ChannelFormat {
  int bits[4];
  int kind;
};
CUCO_CUDART ChannelFormat cudaCreateChannelDesc(int x, int y, int z, int w, int kind) {
  return {{x, y, z, w}, kind};
}
