// SPDX-License-Identifier: Apache-2.0
// Each node of the topology looks like a host of its own.
#include <sys/utsname.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <string>

#include "shims/hostlib/host_server.h"

using namespace cuco::hostlib;  // NOLINT(google-build-using-namespace): definitions of C functions

namespace {

std::string node_name(const cuco::wire::ClientApi& api) {
  const auto* identity = api.identity();
  return "node" + std::to_string(identity == nullptr ? 0 : identity->node);
}

}  // namespace

CUCO_HOST_EXPORT int gethostname(char* name, size_t bytes) noexcept {
  static const auto kNext = next<int (*)(char*, size_t)>("gethostname");
  const auto* api = CUCO_CALLED_BY_PROGRAM ? server() : nullptr;
  if (api == nullptr || bytes == 0) return kNext(name, bytes);
  std::snprintf(name, bytes, "%s", node_name(*api).c_str());
  return 0;
}

CUCO_HOST_EXPORT int uname(utsname* out) noexcept {
  static const auto kNext = next<int (*)(utsname*)>("uname");
  const int result = kNext(out);
  const auto* api = CUCO_CALLED_BY_PROGRAM ? server() : nullptr;
  if (result == 0 && api != nullptr) {
    std::snprintf(out->nodename, sizeof out->nodename, "%s", node_name(*api).c_str());
  }
  return result;
}
