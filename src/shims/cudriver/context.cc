// SPDX-License-Identifier: Apache-2.0
// Contexts: which device a thread's calls mean.
#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "shims/cudriver/driver.h"
#include "shims/cudriver/runtime_calls.h"

namespace cuco::cudriver {
namespace {

constexpr int kMaxDevices = 64;
constexpr Error kInvalidDevice = 101;
constexpr Error kNotSupported = 801;

/// Never destroyed: static destructors of the program still call us.
struct State {
  std::mutex mutex;
  std::atomic<bool> has_started{false};
  std::atomic<bool> has_had_context{false};
  std::atomic<std::uint64_t> next_id{1};
  std::array<Context, kMaxDevices> primaries;
  std::array<std::atomic<int>, kMaxDevices> retained{};
  std::set<const Context*> made;
  std::set<std::string> told;

  State() {
    for (int device = 0; device < kMaxDevices; ++device) {
      primaries[static_cast<std::size_t>(device)] = {
          .device = device, .is_primary = true, .id = next_id++};
    }
  }
};

State& state() {
  static State* const instance = new State;
  return *instance;
}

/// The thread's contexts, the current one last.
std::vector<Context*>& stack() {
  thread_local auto* contexts = new std::vector<Context*>;
  return *contexts;
}

int device_count() {
  int count = 0;
  return cudaGetDeviceCount(&count) == 0 ? count : 0;
}

bool has_device(int device) {
  return device >= 0 && device < device_count() && device < kMaxDevices;
}

/// Whether the program has the runtime's context. Calls of the runtime are the program's own as
/// long as we had no context to make them in.
bool has_runtime() {
  const int use = cucoRuntimeUse();
  return use == 2 || (use == 1 && !state().has_had_context);
}

Error make_current(const Context* context) {
  if (context != nullptr) state().has_had_context = true;

  return context == nullptr ? 0 : result_of(cucoSetDevice(context->device));
}

Error create(Context** context, unsigned flags, int device) {
  if (const Error status = initialised(); status != 0) return status;
  if (context == nullptr) return kInvalidValue;
  if (!has_device(device)) return kInvalidDevice;
  auto made = std::make_unique<Context>();
  made->device = device;
  made->flags = flags;
  made->id = state().next_id++;
  const std::lock_guard lock(state().mutex);
  state().made.insert(made.get());
  *context = made.release();
  stack().push_back(*context);
  return make_current(*context);
}

}  // namespace

Error initialised() {
  return state().has_started || has_runtime() ? 0 : kNotInitialized;
}

Context* primary(int device) {
  return device < 0 || device >= kMaxDevices ? nullptr
                                             : &state().primaries[static_cast<std::size_t>(device)];
}

Context* current() {
  int device = 0;
  if (cudaGetDevice(&device) != 0) return nullptr;
  const auto& contexts = stack();
  // cudaSetDevice puts the device's primary context in the place of the current one.
  if (!contexts.empty()) {
    return contexts.back()->device == device ? contexts.back() : primary(device);
  }
  return has_runtime() ? primary(device) : nullptr;
}

bool is_live(const Context* context) {
  if (context == nullptr) return false;
  const auto& primaries = state().primaries;
  if (context >= primaries.data() && context < primaries.data() + primaries.size()) return true;
  const std::lock_guard lock(state().mutex);
  return state().made.contains(context);
}

Error ready() {
  if (const Error status = initialised(); status != 0) return status;
  return current() != nullptr ? 0 : kInvalidContext;
}

Error result_of(Error status) {
  if (status == 0) return 0;
  (void)cudaGetLastError();
  switch (status) {
    case 13:  // cudaErrorInvalidSymbol
      return kNotFound;
    case 98:  // cudaErrorInvalidDeviceFunction
      return 400;
    case 35:  // cudaErrorInsufficientDriver
      return kNotInitialized;
    default:
      return status > 8 && status < 100 ? kInvalidValue : status;
  }
}

Error unsupported(const char* function) {
  const std::lock_guard lock(state().mutex);
  if (state().told.insert(function).second) {
    std::fprintf(stderr, "cuco: %s is not supported by the virtual CUDA driver\n", function);
  }
  return kNotSupported;
}

OnDevice::OnDevice(int device) {
  (void)cudaGetDevice(&before_);
  (void)cucoSetDevice(device);
}

OnDevice::~OnDevice() {
  (void)cucoSetDevice(before_);
}

}  // namespace cuco::cudriver

using namespace cuco::cudriver;  // NOLINT(google-build-using-namespace): the ABI is global

CUCO_DRIVER Error cuInit(unsigned flags) {
  if (flags != 0) return kInvalidValue;
  if (device_count() == 0) return 100;  // CUDA_ERROR_NO_DEVICE
  state().has_started = true;
  return 0;
}

CUCO_DRIVER Error cuCtxCreate_v2(Context** context, unsigned flags, int device) {
  return create(context, flags, device);
}
CUCO_ALIAS(cuCtxCreate, cuCtxCreate_v2);
CUCO_DRIVER Error
cuCtxCreate_v3(Context** context, void* /*affinity*/, int /*count*/, unsigned flags, int device) {
  return create(context, flags, device);
}
CUCO_DRIVER Error cuCtxCreate_v4(Context** context, void* /*more*/, unsigned flags, int device) {
  return create(context, flags, device);
}

CUCO_DRIVER Error cuCtxDestroy_v2(Context* context) {
  if (const Error status = initialised(); status != 0) return status;
  {
    const std::lock_guard lock(state().mutex);
    if (state().made.erase(context) == 0) return kInvalidContext;
  }
  std::erase(stack(), context);
  if (!stack().empty()) (void)make_current(stack().back());
  delete context;
  return 0;
}
CUCO_ALIAS(cuCtxDestroy, cuCtxDestroy_v2);
CUCO_ALIAS(cuCtxDetach, cuCtxDestroy_v2);

CUCO_DRIVER Error cuCtxPushCurrent_v2(Context* context) {
  if (const Error status = initialised(); status != 0) return status;
  if (!is_live(context)) return kInvalidContext;
  stack().push_back(context);
  return make_current(context);
}
CUCO_ALIAS(cuCtxPushCurrent, cuCtxPushCurrent_v2);

CUCO_DRIVER Error cuCtxPopCurrent_v2(Context** context) {
  if (const Error status = ready(); status != 0) return status;
  if (context != nullptr) *context = current();
  if (stack().empty()) return 0;
  stack().pop_back();
  return stack().empty() ? 0 : make_current(stack().back());
}
CUCO_ALIAS(cuCtxPopCurrent, cuCtxPopCurrent_v2);

CUCO_DRIVER Error cuCtxSetCurrent(Context* context) {
  if (const Error status = initialised(); status != 0) return status;
  if (context != nullptr && !is_live(context)) return kInvalidContext;
  if (!stack().empty()) stack().pop_back();
  if (context == nullptr) return stack().empty() ? 0 : make_current(stack().back());
  stack().push_back(context);
  return make_current(context);
}

CUCO_DRIVER Error cuCtxGetCurrent(Context** context) {
  if (const Error status = initialised(); status != 0) return status;
  if (context == nullptr) return kInvalidValue;
  *context = current();
  return 0;
}

CUCO_DRIVER Error cuCtxGetDevice(int* device) {
  if (const Error status = ready(); status != 0) return status;
  if (device == nullptr) return kInvalidValue;
  *device = current()->device;
  return 0;
}
CUCO_DRIVER Error cuCtxGetDevice_v2(int* device, const Context* context) {
  if (device == nullptr) return kInvalidValue;
  if (!is_live(context)) return kInvalidContext;
  *device = context->device;
  return 0;
}

CUCO_DRIVER Error cuCtxSynchronize() {
  if (const Error status = ready(); status != 0) return status;
  return result_of(cudaDeviceSynchronize());
}
CUCO_DRIVER Error cuCtxSynchronize_v2(const Context* context) {
  if (!is_live(context)) return kInvalidContext;
  const OnDevice on(context->device);
  return result_of(cudaDeviceSynchronize());
}

CUCO_DRIVER Error cuCtxGetFlags(unsigned* flags) {
  if (const Error status = ready(); status != 0) return status;
  if (flags == nullptr) return kInvalidValue;
  *flags = current()->flags;
  return 0;
}
CUCO_DRIVER Error cuCtxSetFlags(unsigned flags) {
  if (const Error status = ready(); status != 0) return status;
  current()->flags = flags;
  return 0;
}
CUCO_DRIVER Error cuCtxGetId(const Context* context, unsigned long long* id) {
  const Context* wanted = context != nullptr ? context : current();
  if (id == nullptr) return kInvalidValue;
  if (!is_live(wanted)) return kInvalidContext;
  *id = wanted->id;
  return 0;
}
CUCO_DRIVER Error cuCtxGetApiVersion(const Context* context, unsigned* version) {
  if (version == nullptr) return kInvalidValue;
  if (context != nullptr && !is_live(context)) return kInvalidContext;
  *version = 13000;
  return 0;
}

CUCO_DRIVER Error cuCtxEnablePeerAccess(const Context* peer, unsigned flags) {
  if (const Error status = ready(); status != 0) return status;
  if (!is_live(peer)) return kInvalidContext;
  return result_of(cudaDeviceEnablePeerAccess(peer->device, flags));
}
CUCO_DRIVER Error cuCtxDisablePeerAccess(const Context* peer) {
  if (const Error status = ready(); status != 0) return status;
  if (!is_live(peer)) return kInvalidContext;
  return result_of(cudaDeviceDisablePeerAccess(peer->device));
}

CUCO_DRIVER Error cuDevicePrimaryCtxRetain(Context** context, int device) {
  if (const Error status = initialised(); status != 0) return status;
  if (context == nullptr) return kInvalidValue;
  if (!has_device(device)) return kInvalidDevice;
  ++state().retained[static_cast<std::size_t>(device)];
  *context = primary(device);
  return 0;
}
CUCO_DRIVER Error cuDevicePrimaryCtxRelease_v2(int device) {
  if (!has_device(device)) return kInvalidDevice;
  auto& count = state().retained[static_cast<std::size_t>(device)];
  if (count == 0) return kInvalidContext;
  --count;
  return 0;
}
CUCO_ALIAS(cuDevicePrimaryCtxRelease, cuDevicePrimaryCtxRelease_v2);
CUCO_DRIVER Error cuDevicePrimaryCtxGetState(int device, unsigned* flags, int* active) {
  if (!has_device(device)) return kInvalidDevice;
  if (flags != nullptr) *flags = primary(device)->flags;
  if (active != nullptr) {
    *active = has_runtime() || state().retained[static_cast<std::size_t>(device)] > 0;
  }
  return 0;
}
CUCO_DRIVER Error cuDevicePrimaryCtxSetFlags_v2(int device, unsigned flags) {
  if (!has_device(device)) return kInvalidDevice;
  primary(device)->flags = flags;
  return 0;
}
CUCO_ALIAS(cuDevicePrimaryCtxSetFlags, cuDevicePrimaryCtxSetFlags_v2);
CUCO_DRIVER Error cuDevicePrimaryCtxReset_v2(int device) {
  if (!has_device(device)) return kInvalidDevice;
  const OnDevice on(device);
  return result_of(cudaDeviceReset());
}
CUCO_ALIAS(cuDevicePrimaryCtxReset, cuDevicePrimaryCtxReset_v2);

CUCO_DRIVER Error cuStreamGetCtx(StreamHandle stream, Context** context) {
  if (const Error status = ready(); status != 0) return status;
  if (context == nullptr) return kInvalidValue;
  int device = 0;
  if (const Error status = cudaStreamGetDevice(stream, &device); status != 0)
    return result_of(status);
  *context = current()->device == device ? current() : primary(device);
  return 0;
}
CUCO_ALIAS(cuStreamGetCtx_ptsz, cuStreamGetCtx);
