// SPDX-License-Identifier: Apache-2.0
#include "driver/gpu_probe.h"

#include <dlfcn.h>

namespace cuco::driver {
namespace {

using SteadyClock = std::chrono::steady_clock;

// `rounds` dependent multiply-adds; the store, which never happens, keeps them from being removed.
constexpr const char* kProbe = R"(.version 7.0
.target sm_70
.address_size 64
.visible .entry probe(.param .u32 rounds) {
  .reg .pred %done, %never;
  .reg .u32 %i, %n;
  .reg .f32 %x;
  .reg .u64 %nowhere;
  ld.param.u32 %n, [rounds];
  mov.f32 %x, 0f3F800000;
  mov.u32 %i, 0;
more:
  setp.ge.u32 %done, %i, %n;
  @%done bra end;
  fma.rn.f32 %x, %x, %x, %x;
  add.u32 %i, %i, 1;
  bra more;
end:
  setp.lt.f32 %never, %x, 0f00000000;
  mov.u64 %nowhere, 0;
  @%never st.global.f32 [%nowhere], %x;
  ret;
}
)";

// One block for each multiprocessor of today's largest GPUs.
constexpr unsigned kBlocks = 160;
constexpr unsigned kRounds = 18'000;

// Reasons for a lower clock that say "not as fast as it could be": power cap, slowdown, heat,
// brake.
constexpr unsigned long long kThrottled = 0x4 | 0x8 | 0x20 | 0x40 | 0x80;
constexpr int kMultiprocessorClock = 1;

}  // namespace

Result<GpuProbe> GpuProbe::load() {
  GpuProbe probe;
  CUCO_TRY_ASSIGN(probe.driver_, GpuDriver::load());
  void* module = nullptr;
  CUCO_TRY(gpu_checked(probe.driver_.load_module(&module, kProbe), "cuModuleLoadData"));
  CUCO_TRY(gpu_checked(probe.driver_.get_function(&probe.kernel_, module, "probe"),
                       "cuModuleGetFunction"));
  return probe;
}

bool GpuProbe::run(unsigned blocks, unsigned rounds) const {
  void* arguments[] = {&rounds};
  return driver_.launch(kernel_, blocks, 1, 1, 32, 1, 1, 0, nullptr, arguments, nullptr) == 0 &&
         driver_.synchronize() == 0;
}

std::chrono::nanoseconds GpuProbe::time_work() const {
  if (!touch()) return {};
  const auto begin = SteadyClock::now();
  if (!run(kBlocks, kRounds)) return {};
  return SteadyClock::now() - begin;
}

GpuHealth::GpuHealth() {
  void* library = ::dlopen("libnvidia-ml.so.1", RTLD_NOW);
  if (library == nullptr) return;
  const auto find = [&](const char* name, auto*& function) {
    function =
        reinterpret_cast<std::remove_reference_t<decltype(function)>>(::dlsym(library, name));
    return function != nullptr;
  };
  int (*init)() = nullptr;
  int (*device)(unsigned, void**) = nullptr;
  const bool found = find("nvmlInit_v2", init) && find("nvmlDeviceGetHandleByIndex_v2", device) &&
                     find("nvmlDeviceGetClockInfo", clock_) &&
                     find("nvmlDeviceGetCurrentClocksThrottleReasons", reasons_);
  if (!found || init() != 0 || device(0, &device_) != 0) device_ = nullptr;
}

GpuHealth::Reading GpuHealth::read() const {
  Reading reading;
  if (device_ == nullptr) return reading;
  unsigned mhz = 0;
  if (clock_(device_, kMultiprocessorClock, &mhz) == 0) reading.clock_mhz = mhz;
  unsigned long long reasons = 0;
  if (reasons_(device_, &reasons) == 0) reading.throttled = (reasons & kThrottled) != 0;
  return reading;
}

}  // namespace cuco::driver
