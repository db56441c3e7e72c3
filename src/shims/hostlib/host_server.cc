// SPDX-License-Identifier: Apache-2.0
#include "shims/hostlib/host_server.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <iterator>

namespace cuco::hostlib {
namespace {

constexpr std::int64_t kClockReadCost = 100'000;  // 100 ns

/// Objects whose calls are not the program's: their time-outs and locks are their own business.
/// Named for those who have an MPI or a NCCL outside the system's folders.
constexpr const char* kMachinery[] = {
    "libc.so",   "libm.so",    "ld-linux", "libpthread",   "libmpi",      "libopen-",
    "libpmix",   "libevent",   "libhwloc", "libuc",        "libfabric",   "libgomp",
    "libcudart", "libcuda.so", "libnccl",  "libcuco-host", "libcuco-mpi", "mca_",
    "libprrte",  "libz.so",    "libudev",  "libasan",      "libtsan"};

/// What the distribution installed is machinery as well, whatever MPI drags in (drivers of networks
/// calibrate themselves by sleeping); only the C++ library speaks for the program.
constexpr const char* kSystemFolders[] = {"/lib/", "/lib64/", "/usr/lib/", "/usr/lib64/"};
constexpr const char* kSpeaksForProgram = "libstdc++";

bool starts_with(const char* text, const char* prefix) {
  return std::strncmp(text, prefix, std::strlen(prefix)) == 0;
}

bool is_machinery(const char* path) {
  const char* slash = std::strrchr(path, '/');
  const char* name = slash == nullptr ? path : slash + 1;
  const auto is_name = [name](const char* prefix) { return starts_with(name, prefix); };
  const auto is_folder = [path](const char* prefix) { return starts_with(path, prefix); };
  return std::any_of(std::begin(kMachinery), std::end(kMachinery), is_name) ||
         (std::any_of(std::begin(kSystemFolders), std::end(kSystemFolders), is_folder) &&
          !is_name(kSpeaksForProgram));
}

void one_way(const wire::ClientApi& api, std::uint16_t type, const void* head, std::size_t bytes) {
  wire::CallRequest request;
  request.type = type;
  request.one_way = true;
  request.head = head;
  request.head_bytes = bytes;
  wire::CallReply reply;
  // Without a server there is nobody to tell, and libcudart has said so.
  (void)api.call(&request, &reply);
}

}  // namespace

const wire::ClientApi* server() {
  static std::atomic<const wire::ClientApi*> known{nullptr};
  const wire::ClientApi* api = known.load(std::memory_order_acquire);
  if (api == nullptr) {
    if (void* symbol = ::dlsym(RTLD_DEFAULT, wire::kClientApiSymbol)) {
      api = reinterpret_cast<wire::ClientApiFunction>(symbol)();
      known.store(api, std::memory_order_release);
    }
  }
  return api;
}

bool called_by_program(const void* return_address) {
  thread_local const void* last_address = nullptr;
  thread_local bool last_answer = false;
  if (return_address == last_address) return last_answer;
  Dl_info info;
  const bool answer = ::dladdr(return_address, &info) == 0 || info.dli_fname == nullptr ||
                      !is_machinery(info.dli_fname);
  last_address = return_address;
  last_answer = answer;
  return answer;
}

void post(const wire::ClientApi& api,
          std::uint64_t key,
          std::uint32_t scope,
          std::uint32_t count,
          std::uint64_t last_ticket) {
  wire::Nothing reply;
  (void)wire::call(api, wire::SemaphorePost{key, scope, count, last_ticket}, &reply);
}

bool wait(const wire::ClientApi& api,
          std::uint64_t key,
          std::uint32_t scope,
          wire::HostWait kind,
          std::int64_t timeout_ps,
          std::uint64_t ticket) {
  wire::SemaphoreWait::Reply reply;
  const auto status =
      wire::call(api, wire::SemaphoreWait{key, scope, kind, timeout_ps, ticket}, &reply);
  return status == wire::kSuccess && reply.acquired != 0;
}

void meet(const wire::ClientApi& api,
          std::uint64_t key,
          std::uint32_t scope,
          std::uint32_t count,
          wire::HostWait kind) {
  wire::Nothing reply;
  (void)wire::call(api, wire::Rendezvous{key, scope, count, kind, 0}, &reply);
}

std::int64_t read_clock(const wire::ClientApi& api) {
  wire::Nothing reply;
  (void)wire::call(api, wire::ReadClock{kClockReadCost}, &reply);
  return api.clock();
}

std::int64_t picoseconds_until(const wire::ClientApi& api, clockid_t clock, const timespec& until) {
  timespec now{};
  // Through our own wrapper's arithmetic: the program made `until` from a virtual clock.
  const std::int64_t nanoseconds = read_clock(api) / 1000;
  now.tv_sec = (clock == CLOCK_REALTIME ? 1'767'225'600 : 1'000) + nanoseconds / 1'000'000'000;
  now.tv_nsec = nanoseconds % 1'000'000'000;
  const std::int64_t left =
      (std::int64_t{until.tv_sec} - now.tv_sec) * 1'000'000'000 + (until.tv_nsec - now.tv_nsec);
  return left > 0 ? left * 1000 : 0;
}

void sleep_for(const wire::ClientApi& api, std::int64_t duration_ps) {
  wire::Nothing reply;
  (void)wire::call(api, wire::Sleep{duration_ps}, &reply);
}

Outside::Outside(const wire::ClientApi& api, wire::HostWait kind) : api_(api) {
  const wire::Park park{kind, 0, 0};
  one_way(api_, wire::Park::kType, &park, sizeof park);
}

Outside::~Outside() {
  const wire::Unpark unpark{-1};
  one_way(api_, wire::Unpark::kType, &unpark, sizeof unpark);
}

}  // namespace cuco::hostlib
