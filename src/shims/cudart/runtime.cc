// SPDX-License-Identifier: Apache-2.0
// The library is loaded before the program's static constructors and used after its destructors,
// by any thread, before and after fork. So: no static object with a destructor, thread state that
// is plain data, connections made on first use and abandoned in a forked child.
#include "shims/cudart/runtime.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include <dlfcn.h>
#include <pthread.h>

#include "shims/cudart/driver_port.h"
#include "shims/cudart/host_memory.h"
#include "shims/wire/call_site.h"
#include "shims/wire/connection.h"
#include "shims/wire/messages_accesses.h"
#include "shims/wire/messages_managed.h"

namespace cuco::cudart {
namespace {

/// What a thread owns; freed by the key's destructor when the thread ends.
struct Link {
  std::unique_ptr<wire::Connection> connection;
  unsigned generation = 0;
  wire::Fd bounce_fd;
  std::span<std::byte> bounce;
};

/// What the process owns; never destroyed.
struct Shared {
  std::mutex mutex;
  std::atomic<unsigned> generation{1};  ///< Counts forks.
  bool connected = false;
  wire::Hello::Reply identity;
  std::vector<int> devices;  ///< Ordinal -> cluster device.
  std::vector<std::unique_ptr<wire::DeviceInfo>> infos;
  std::atomic<Error> sticky[wire::kMaxDevices] = {};
  std::atomic<bool> told_no_server{false};
  std::atomic<int> use{0};  ///< As cucoRuntimeUse says.
  /// Of the host library, in checked runs: what the thread did to memory that the host shares.
  std::atomic<wire::TellAccessesFunction> tell_accesses{nullptr};
  std::set<std::string> told_unsupported;
  pthread_key_t key{};
  bool has_key = false;
};

Shared& shared() {
  static Shared* const instance = new Shared;
  return *instance;
}

thread_local Link* thread_link = nullptr;
thread_local std::int64_t birth_clock = -1;

void free_link(void* pointer) {
  delete static_cast<Link*>(pointer);
  thread_link = nullptr;
}

void after_fork_in_child() {
  Shared& state = shared();
  state.generation.fetch_add(1);
  state.connected = false;
  for (auto& sticky : state.sticky)
    sticky = 0;
  // The parent's connection must not be closed by the child's end, nor used by it.
  thread_link = nullptr;
}

std::string program_name() {
  char path[4096];
  const ssize_t length = ::readlink("/proc/self/exe", path, sizeof path);
  return length > 0 ? std::string(path, static_cast<std::size_t>(length)) : "program";
}

int rank_from_environment() {
  for (const char* name : {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID"}) {
    if (const char* value = std::getenv(name)) return std::atoi(value);
  }
  return -1;
}

/// CUDA_VISIBLE_DEVICES: numbers, up to the first that is none.
std::vector<int> visible_devices(const wire::Hello::Reply& identity) {
  std::vector<int> all(identity.devices,
                       identity.devices + std::min(identity.device_count, wire::kMaxDevices));
  const char* wanted = std::getenv("CUDA_VISIBLE_DEVICES");
  if (wanted == nullptr) return all;
  std::vector<int> chosen;
  for (const char* at = wanted; *at != '\0';) {
    char* end = nullptr;
    const long number = std::strtol(at, &end, 10);
    if (end == at || number < 0 || number >= static_cast<long>(all.size())) break;
    chosen.push_back(all[static_cast<std::size_t>(number)]);
    at = *end == ',' ? end + 1 : end;
  }
  return chosen;
}

/// Tells the host library, if it is there, which memory a checked run watches.
void watch_host(Shared& state) {
  if (std::getenv(wire::kCheckVariable) == nullptr) return;
  void* watch = ::dlsym(RTLD_DEFAULT, wire::kWatchHostSymbol);
  void* tell = ::dlsym(RTLD_DEFAULT, wire::kTellAccessesSymbol);
  if (watch == nullptr || tell == nullptr) return;
  // Managed variables lie among device memory; what the host cannot reach it does not touch.
  const wire::Hello::Reply& here = state.identity;
  reinterpret_cast<wire::WatchHostFunction>(watch)(
      here.device_base, here.host_base + here.host_bytes - here.device_base);
  state.tell_accesses = reinterpret_cast<wire::TellAccessesFunction>(tell);
}

void tell_accesses() {
  if (const auto tell = shared().tell_accesses.load(std::memory_order_relaxed)) tell();
}

/// The first connection of the process: who we are, what we see, where our memory is.
void on_first_connection(Shared& state, wire::Connection& connection) {
  state.connected = true;
  state.identity = connection.identity();
  state.devices = visible_devices(state.identity);
  state.infos.clear();
  state.infos.resize(state.devices.size());
  reserve_memory(state.identity, connection.take_host_memory());
  // The lock that loading takes (registry.cc) is the server's, and starts free.
  const wire::SemaphorePost free_lock{.key = wire::kLoadingLock};
  const wire::CallRequest request{
      .type = wire::SemaphorePost::kType, .head = &free_lock, .head_bytes = sizeof free_lock};
  (void)connection.call(request, nullptr);
  watch_host(state);
}

void tell_no_server(const std::string& why) {
  if (shared().told_no_server.exchange(true)) return;
  std::fprintf(stderr,
               "cuco: this program uses cuco's CUDA runtime, which needs a virtual cluster (%s); "
               "start it with: cuco run\n",
               why.c_str());
}

Link* open_link(wire::Hello::Role role) {
  const char* path = std::getenv(wire::kSocketVariable);
  if (path == nullptr) {
    tell_no_server(std::string(wire::kSocketVariable) + " is not set");
    return nullptr;
  }
  wire::Hello hello;
  hello.pid = static_cast<std::uint32_t>(::getpid());
  hello.tid = static_cast<std::uint32_t>(::syscall(SYS_gettid));
  hello.role = role;
  hello.rank = rank_from_environment();
  hello.born_at = birth_clock;
  auto connection = wire::Connection::open(path, hello, program_name());
  if (!connection) {
    tell_no_server(connection.error().message());
    return nullptr;
  }
  Shared& state = shared();
  const std::lock_guard lock(state.mutex);
  if (!state.has_key) {
    state.has_key = ::pthread_key_create(&state.key, free_link) == 0;
    ::pthread_atfork(nullptr, nullptr, after_fork_in_child);
  }
  if (!state.connected) on_first_connection(state, **connection);
  auto* link = new Link;
  link->connection = *std::move(connection);
  link->generation = state.generation;
  if (state.has_key) ::pthread_setspecific(state.key, link);
  thread_link = link;
  return link;
}

Link* link() {
  if (thread_link != nullptr && thread_link->generation == shared().generation) return thread_link;
  return open_link(wire::Hello::kThread);
}

/// The server was there and is gone: nothing this process computes means anything any more.
[[noreturn]] void server_gone() {
  std::fflush(stdout);
  ::_exit(125);
}

bool call_server(const wire::CallRequest* request, wire::CallReply* reply) {
  Link* here_link = link();
  if (here_link == nullptr) return false;
  if (request->type != wire::HostAccesses::kType) tell_accesses();
  if (!here_link->connection->call(*request, reply)) server_gone();
  return true;
}

std::int64_t thread_clock() {
  return thread_link != nullptr ? thread_link->connection->clock() : 0;
}

void set_birth_clock(std::int64_t clock) {
  birth_clock = clock;
}

void run_job(const wire::NextService::Reply& job) {
  thread().in_callback = true;
  switch (job.kind) {
    case wire::NextService::kCallback:
      reinterpret_cast<HostFunction>(job.function)(reinterpret_cast<void*>(job.argument));
      break;
    case wire::NextService::kStreamCallback:
      reinterpret_cast<StreamCallback>(job.function)(
          handle_of<StreamHandle>(job.stream), job.status, reinterpret_cast<void*>(job.argument));
      break;
    default:
      break;
  }
  thread().in_callback = false;
  const std::size_t bytes = job.width * job.height * job.depth;
  if (job.kind == wire::NextService::kGrowBounce) (void)bounce(bytes);
  if (job.kind != wire::NextService::kReadHost && job.kind != wire::NextService::kWriteHost) return;
  std::byte* at = bounce(bytes).data();
  if (at == nullptr) return;
  for (std::uint64_t z = 0; z < job.depth; ++z) {
    for (std::uint64_t y = 0; y < job.height; ++y, at += job.width) {
      void* row = reinterpret_cast<void*>(job.argument + z * job.slice + y * job.pitch);
      if (job.kind == wire::NextService::kReadHost) {
        std::memcpy(at, row, job.width);
      } else {
        std::memcpy(row, at, job.width);
      }
    }
  }
}

struct ServiceStart {
  std::mutex mutex;
  pthread_cond_t ready = PTHREAD_COND_INITIALIZER;
  bool started = false;
  bool failed = false;
  unsigned generation = 0;
};

ServiceStart& service_start() {
  static ServiceStart* const instance = new ServiceStart;
  return *instance;
}

void* serve(void* pointer) {
  auto* connected = static_cast<int*>(pointer);
  const bool ok = open_link(wire::Hello::kService) != nullptr;
  // The starter polls this with a futex-free wait: a pipe, because condition variables may be
  // wrapped by the host library, which would ask the server about them.
  const char byte = ok ? 1 : 0;
  (void)!::write(connected[1], &byte, 1);
  if (!ok) return nullptr;
  wire::NextService request;
  for (;;) {
    wire::NextService::Reply job;
    if (wire::call(client(), request, &job) != wire::kSuccess) return nullptr;
    run_job(job);
    request.finished_ticket = job.ticket;
  }
}

}  // namespace

Thread& thread() {
  thread_local Thread state;
  return state;
}

const wire::ClientApi& client() {
  static constexpr wire::ClientApi kApi = {
      .version = wire::kVersion,
      .call = call_server,
      .clock = thread_clock,
      .identity = identity,
      .current_device = [] { return thread().device; },
      .cluster_device = cluster_device,
      .set_birth_clock = set_birth_clock,
      .is_known = [] { return thread_link != nullptr; },
  };
  return kApi;
}

const wire::Hello::Reply* identity() {
  return link() != nullptr ? &shared().identity : nullptr;
}

int device_count() {
  return identity() != nullptr ? static_cast<int>(shared().devices.size()) : 0;
}

int cluster_device(int ordinal) {
  if (ordinal < 0 || ordinal >= device_count()) return -1;
  return shared().devices[static_cast<std::size_t>(ordinal)];
}

int ordinal_of(int device) {
  const auto& devices = shared().devices;
  for (std::size_t i = 0; i < devices.size(); ++i) {
    if (devices[i] == device) return static_cast<int>(i);
  }
  return -1;
}

int here() {
  return cluster_device(thread().device);
}

const wire::DeviceInfo* device_info(int ordinal) {
  const int device = cluster_device(ordinal);
  if (device < 0) return nullptr;
  Shared& state = shared();
  {
    const std::lock_guard lock(state.mutex);
    if (const auto& known = state.infos[static_cast<std::size_t>(ordinal)]) return known.get();
  }
  auto info = std::make_unique<wire::DeviceInfo>();
  if (wire::call(client(), wire::GetDeviceInfo{.device = device}, info.get()) != 0) return nullptr;
  const std::lock_guard lock(state.mutex);
  auto& slot = state.infos[static_cast<std::size_t>(ordinal)];
  if (slot == nullptr) slot = std::move(info);
  return slot.get();
}

void note_runtime_used() {
  shared().use = 2;
}

Error done(Error status) {
  if (status != 0) thread().last_error = status;
  return status;
}

Error settle(std::int32_t raw) {
  if ((raw & wire::kOutputFlag) != 0) {
    for (;;) {
      wire::FetchOutput::Reply reply;
      wire::Bytes text;
      if (wire::call(client(), wire::FetchOutput{}, &reply, {}, &text) != 0) break;
      if (reply.stream == 0) break;
      std::FILE* file = reply.stream == 2 ? stderr : stdout;
      std::fwrite(text.data(), 1, text.size(), file);
    }
  }
  const Error status = raw & wire::kStatusMask;
  if ((raw & wire::kStickyFlag) != 0) {
    const int device = here();
    if (device >= 0) shared().sticky[device] = status;
  }
  return status;
}

Error sticky_error() {
  const int device = here();
  return device >= 0 ? shared().sticky[device].load() : 0;
}

void clear_sticky_error(int device) {
  if (device >= 0) shared().sticky[device] = 0;
}

Error refused() {
  if (thread().in_callback) return wire::kNotPermitted;
  if (here() < 0) return identity() == nullptr ? kNoDevice : wire::kInvalidDevice;
  int never = 0;
  if (shared().use.load(std::memory_order_relaxed) == never)
    shared().use.compare_exchange_strong(never, 1);
  return sticky_error();
}

bool ensure_service() {
  ServiceStart& start = service_start();
  const std::lock_guard lock(start.mutex);
  if (start.started && start.generation == shared().generation) return !start.failed;
  start.started = true;
  start.generation = shared().generation;
  int connected[2] = {-1, -1};
  if (::pipe2(connected, O_CLOEXEC) != 0) return false;
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  ::pthread_sigmask(SIG_BLOCK, &all, &before);
  pthread_t handle{};
  start.failed = ::pthread_create(&handle, nullptr, serve, connected) != 0;
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (!start.failed) {
    ::pthread_detach(handle);
    char byte = 0;
    start.failed = ::read(connected[0], &byte, 1) != 1 || byte == 0;
  }
  ::close(connected[0]);
  ::close(connected[1]);
  return !start.failed;
}

std::span<std::byte> bounce(std::size_t bytes) {
  Link* here_link = link();
  if (here_link == nullptr) return {};
  if (here_link->bounce.size() >= bytes) return here_link->bounce;
  std::size_t size = 1U << 20U;
  while (size < bytes)
    size *= 2;
  wire::Fd fd(::memfd_create("cuco-bounce", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!fd.is_open() || ::ftruncate(fd.get(), static_cast<off_t>(size)) != 0 ||
      ::fcntl(fd.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) != 0) {
    return {};
  }
  void* at = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0);
  if (at == MAP_FAILED) return {};
  const wire::AttachBounce request{.bytes = size};
  if (wire::call(client(), request, nullptr, {}, nullptr, fd.get()) != 0) {
    ::munmap(at, size);
    return {};
  }
  if (!here_link->bounce.empty()) ::munmap(here_link->bounce.data(), here_link->bounce.size());
  here_link->bounce = {static_cast<std::byte*>(at), size};
  return here_link->bounce;
}

Error unsupported(const char* function) {
  Shared& state = shared();
  const std::lock_guard lock(state.mutex);
  if (state.told_unsupported.insert(function).second) {
    std::fprintf(stderr, "cuco: %s is not supported by the virtual CUDA runtime\n", function);
  }
  return done(wire::kNotSupported);
}

namespace {

/// The library is unloaded last: the process ends in order.
__attribute__((destructor)) void say_goodbye() {
  if (thread_link == nullptr || thread_link->generation != shared().generation) return;
  tell_accesses();
  wire::CallRequest request;
  request.type = wire::Goodbye::kType;
  request.one_way = true;
  (void)thread_link->connection->call(request, nullptr);
}

}  // namespace

}  // namespace cuco::cudart

/// For libnccl and the host library: see wire/client.h.
CUCO_CUDART const cuco::wire::ClientApi* cucoClientApi() {
  return &cuco::cudart::client();
}

CUCO_CUDART int cucoRuntimeUse() {
  return cuco::cudart::shared().use;
}

CUCO_CUDART cuco::cudart::Error cucoSetDevice(int ordinal) {
  if (cuco::cudart::cluster_device(ordinal) < 0) return cuco::wire::kInvalidDevice;
  cuco::cudart::thread().device = ordinal;
  return 0;
}
