// SPDX-License-Identifier: Apache-2.0
// Errors: CUDA's rules are that each thread remembers its last one, that reading it forgets it, and
// that a broken context stays broken.
#include <algorithm>

#include "shims/cudart/runtime.h"

using namespace cuco::cudart;  // NOLINT(google-build-using-namespace): the ABI is global
namespace wire = cuco::wire;

namespace {

struct Entry {
  Error code;
  const char* name;
  const char* text;
};

constexpr Entry kErrors[] = {
#include "shims/cudart/errors.inc"
};

const Entry* find(Error code) {
  const auto* found = std::ranges::lower_bound(kErrors, code, {}, &Entry::code);
  return found != std::end(kErrors) && found->code == code ? found : nullptr;
}

}  // namespace

CUCO_CUDART const char* cudaGetErrorName(Error code) {
  const Entry* entry = find(code);
  return entry != nullptr ? entry->name : "unrecognized error code";
}

CUCO_CUDART const char* cudaGetErrorString(Error code) {
  const Entry* entry = find(code);
  return entry != nullptr ? entry->text : "unrecognized error code";
}

CUCO_CUDART Error cudaPeekAtLastError() {
  const Error sticky = identity() != nullptr ? sticky_error() : 0;
  return sticky != 0 ? sticky : thread().last_error;
}

CUCO_CUDART Error cudaGetLastError() {
  const Error last = cudaPeekAtLastError();
  thread().last_error = 0;
  return last;
}
