// SPDX-License-Identifier: Apache-2.0
#include "shims/cudart/registry.h"

#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <map>
#include <mutex>
#include <set>
#include <utility>

#include "shims/cudart/host_memory.h"
#include "shims/cudart/runtime.h"
#include "shims/wire/messages_managed.h"
#include "shims/wire/messages_module.h"

namespace cuco::cudart {
namespace {

constexpr std::uint32_t kWrapperMagic = 0x466243B1;
constexpr std::uint32_t kImageMagic = 0xBA55ED50;

/// __fatBinC_Wrapper_t
struct Wrapper {
  std::uint32_t magic;
  std::uint32_t version;
  const std::byte* data;
  const std::byte* const* prelinked;  ///< Version 2 (-rdc): ended by null.
};

struct ImageHeader {
  std::uint32_t magic;
  std::uint16_t version;
  std::uint16_t header_bytes;
  std::uint64_t bytes;
};

/// Never destroyed: static destructors of the program still call us.
struct Registry {
  std::recursive_mutex mutex;
  std::vector<std::unique_ptr<CodeModule>> modules;
  std::vector<std::unique_ptr<Kernel>> kernels;
  std::set<const void*> handles;  ///< Addresses of kernels.
  std::map<const void*, Kernel*> by_function;
  std::map<const void*, std::unique_ptr<DeviceVariable>> variables;
  std::atomic<bool> has_unplaced{false};
};

Registry& registry() {
  static Registry* const instance = new Registry;
  return *instance;
}

/// Pids are the cheapest way to notice a fork here; the number only has to differ.
unsigned generation() {
  return static_cast<unsigned>(::getpid());
}

/// Held while something is sent to the server to be loaded. The server orders who gets it.
class LoadingLock {
 public:
  LoadingLock() {
    if (depth()++ == 0)
      (void)wire::call(client(), wire::SemaphoreWait{.key = wire::kLoadingLock}, nullptr);
  }
  ~LoadingLock() {
    if (--depth() == 0)
      (void)wire::call(client(), wire::SemaphorePost{.key = wire::kLoadingLock}, nullptr);
  }
  LoadingLock(const LoadingLock&) = delete;
  LoadingLock& operator=(const LoadingLock&) = delete;

 private:
  static int& depth() {
    thread_local int value = 0;
    return value;
  }
};

void add_image(std::vector<std::pair<const std::byte*, std::size_t>>& images,
               const std::byte* data) {
  if (data == nullptr) return;
  ImageHeader header{};
  std::memcpy(&header, data, sizeof header);
  if (header.magic != kImageMagic) return;
  images.emplace_back(data, header.header_bytes + header.bytes);
}

bool write_all(int fd, const std::byte* data, std::size_t bytes) {
  while (bytes > 0) {
    const ssize_t part = ::write(fd, data, bytes);
    if (part <= 0) return false;
    data += part;
    bytes -= static_cast<std::size_t>(part);
  }
  return true;
}

/// Maps a managed variable where the first device has it.
Error map_managed(DeviceVariable& variable) {
  if (const Error status = refused(); status != 0) return status;
  if (const Error status = load(*variable.module); status != 0) return status;
  const wire::MapManaged request{.module = variable.module->number, .device = cluster_device(0)};
  const wire::CallRequest raw{.type = wire::MapManaged::kType,
                              .head = &request,
                              .head_bytes = sizeof request,
                              .tail = variable.name.data(),
                              .tail_bytes = variable.name.size()};
  wire::CallReply answer;
  if (!client().call(&raw, &answer)) return wire::kInitializationError;
  if (answer.status != wire::kSuccess) return settle(answer.status);
  const auto reply = wire::read_front<wire::MapManaged::Reply>({answer.payload, answer.bytes});
  if (!reply || answer.fd < 0) return wire::kUnknown;
  void* at = ::mmap(reinterpret_cast<void*>(reply->address), reply->bytes, PROT_READ | PROT_WRITE,
                    MAP_SHARED | MAP_FIXED, answer.fd, static_cast<off_t>(reply->file_offset));
  if (at == MAP_FAILED) return wire::kMemoryAllocation;
  *variable.managed = at;
  return 0;
}

}  // namespace

std::vector<std::pair<const std::byte*, std::size_t>> images_of(const void* pointer) {
  Wrapper wrapper{};
  std::memcpy(&wrapper, pointer, sizeof wrapper);
  std::vector<std::pair<const std::byte*, std::size_t>> images;
  if (wrapper.magic != kWrapperMagic) return images;
  add_image(images, wrapper.data);
  if (wrapper.version == 2 && wrapper.prelinked != nullptr) {
    for (const std::byte* const* image = wrapper.prelinked; *image != nullptr; ++image) {
      add_image(images, *image);
    }
  }
  return images;
}

CodeModule* add_module(std::vector<std::pair<const std::byte*, std::size_t>> images) {
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  auto module = std::make_unique<CodeModule>();
  module->images = std::move(images);
  return all.modules.emplace_back(std::move(module)).get();
}

Kernel* add_kernel(CodeModule* module, std::string name, const void* host_function) {
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  auto kernel = std::make_unique<Kernel>();
  kernel->module = module;
  kernel->name = std::move(name);
  Kernel* added = all.kernels.emplace_back(std::move(kernel)).get();
  all.handles.insert(added);
  if (host_function != nullptr) all.by_function[host_function] = added;
  return added;
}

std::pair<const void*, Kernel*> function_of(std::uint64_t number) {
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  for (const auto& [function, kernel] : all.by_function) {
    if (kernel->number == number) return {function, kernel};
  }
  for (const auto& kernel : all.kernels) {
    if (kernel->number == number) return {kernel.get(), kernel.get()};
  }
  return {nullptr, nullptr};
}

Kernel* find_kernel(const void* function) {
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  const auto found = all.by_function.find(function);
  if (found != all.by_function.end()) return found->second;
  if (!all.handles.contains(function)) return nullptr;
  return static_cast<Kernel*>(const_cast<void*>(function));
}

DeviceVariable* find_variable(const void* host_variable) {
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  const auto found = all.variables.find(host_variable);
  if (found != all.variables.end()) return found->second.get();
  // The name of a managed variable stands for its memory.
  for (const auto& [pointer, variable] : all.variables) {
    if (variable->managed != nullptr && *variable->managed == host_variable) return variable.get();
  }
  return nullptr;
}

Error load(CodeModule& module) {
  if (module.number != 0 && module.generation == generation()) return 0;
  if (const Error status = refused(); status != 0) return status;
  const LoadingLock lock;
  if (module.number != 0 && module.generation == generation()) return 0;
  const wire::Fd file(::memfd_create("cuco-module", MFD_CLOEXEC));
  if (!file.is_open()) return wire::kMemoryAllocation;
  std::vector<std::uint64_t> ranges;
  std::uint64_t offset = 0;
  for (const auto& [data, bytes] : module.images) {
    if (!write_all(file.get(), data, bytes)) return wire::kMemoryAllocation;
    ranges.push_back(offset);
    ranges.push_back(bytes);
    offset += bytes;
  }
  const wire::LoadModule request{.images = static_cast<std::uint32_t>(module.images.size())};
  wire::LoadModule::Reply reply;
  const Error status = call(request, &reply, std::as_bytes(std::span(ranges)), nullptr, file.get());
  if (status != 0) return status;
  module.number = reply.module;
  module.generation = generation();
  return 0;
}

Error load(Kernel& kernel) {
  if (kernel.number != 0 && kernel.generation == generation()) return 0;
  if (const Error status = refused(); status != 0) return status;
  const LoadingLock lock;
  if (kernel.number != 0 && kernel.generation == generation()) return 0;
  if (const Error status = load(*kernel.module); status != 0) return status;
  const wire::GetFunction request{.module = kernel.module->number, .device = here()};
  wire::GetFunction::Reply reply;
  wire::Bytes tail;
  const Error status = call(request, &reply, wire::bytes_of_text(kernel.name), &tail);
  if (status != 0) return status;
  const auto layout = wire::read_array<Kernel::Parameter>(tail, reply.parameters);
  if (!layout) return wire::kUnknown;
  kernel.parameters = *layout;
  kernel.parameter_bytes = reply.parameter_bytes;
  kernel.number = reply.function;
  kernel.generation = generation();
  return 0;
}

Error locate(DeviceVariable& variable, std::uint64_t* address, std::uint64_t* bytes) {
  if (const Error status = load(*variable.module); status != 0) return status;
  const wire::GetSymbol request{.module = variable.module->number, .device = here()};
  wire::GetSymbol::Reply reply;
  const Error status = call(request, &reply, wire::bytes_of_text(variable.name));
  if (status != 0) return status;
  // A managed variable has one address, where the host sees it.
  const bool is_placed = variable.managed != nullptr && *variable.managed != nullptr;
  *address = is_placed ? reinterpret_cast<std::uint64_t>(*variable.managed) : reply.address;
  *bytes = reply.bytes;
  return 0;
}

Error place_managed(CodeModule& module) {
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  for (const auto& [pointer, variable] : all.variables) {
    if (variable->module != &module || variable->managed == nullptr) continue;
    if (*variable->managed != nullptr) continue;
    if (const Error status = map_managed(*variable); status != 0) return status;
  }
  return 0;
}

void place_all_managed() {
  Registry& all = registry();
  if (!all.has_unplaced.exchange(false)) return;
  const std::lock_guard lock(all.mutex);
  for (const auto& module : all.modules)
    (void)place_managed(*module);
}

}  // namespace cuco::cudart

using namespace cuco::cudart;  // NOLINT(google-build-using-namespace): the ABI is global

// The functions that nvcc's glue code calls from static constructors.

CUCO_CUDART void** __cudaRegisterFatBinary(void* wrapper) {
  return reinterpret_cast<void**>(add_module(images_of(wrapper)));
}

CUCO_CUDART void __cudaRegisterFatBinaryEnd(void** /*module*/) {}

// The code stays: destructors that run later may still use it, and the process ends anyway.
CUCO_CUDART void __cudaUnregisterFatBinary(void** /*module*/) {}

CUCO_CUDART char __cudaInitModule(void** module) {
  return place_managed(*reinterpret_cast<CodeModule*>(module)) == 0 ? 1 : 0;
}

CUCO_CUDART void __cudaRegisterFunction(void** module,
                                        const char* host_function,
                                        char* /*device_function*/,
                                        const char* name,
                                        int /*thread_limit*/,
                                        void* /*tid*/,
                                        void* /*bid*/,
                                        void* /*block*/,
                                        void* /*grid*/,
                                        int* /*warp_size*/) {
  note_runtime_used();
  add_kernel(reinterpret_cast<CodeModule*>(module), name, host_function);
}

namespace {

void add_variable(
    void** module, const void* key, const char* name, std::size_t bytes, void** managed) {
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  auto variable = std::make_unique<DeviceVariable>();
  variable->module = reinterpret_cast<CodeModule*>(module);
  variable->name = name;
  variable->bytes = bytes;
  variable->managed = managed;
  if (managed != nullptr) all.has_unplaced = true;
  all.variables[key] = std::move(variable);
}

}  // namespace

CUCO_CUDART void __cudaRegisterVar(void** module,
                                   char* host_variable,
                                   char* /*device_address*/,
                                   const char* name,
                                   int /*external*/,
                                   std::size_t bytes,
                                   int /*constant*/,
                                   int /*global*/) {
  add_variable(module, host_variable, name, bytes, nullptr);
}

CUCO_CUDART void __cudaRegisterManagedVar(void** module,
                                          void** host_variable,
                                          char* /*device_address*/,
                                          const char* name,
                                          int /*external*/,
                                          std::size_t bytes,
                                          int /*constant*/,
                                          int /*global*/) {
  add_variable(module, host_variable, name, bytes, host_variable);
}

CUCO_CUDART void __cudaRegisterHostVar(void** /*module*/,
                                       const char* /*name*/,
                                       char* /*host_variable*/,
                                       std::size_t /*bytes*/) {}

CUCO_CUDART unsigned __cudaPushCallConfiguration(Dim3 grid,
                                                 Dim3 block,
                                                 std::size_t dynamic_smem,
                                                 StreamHandle stream) {
  Thread& here_thread = thread();
  if (here_thread.configurations == nullptr) {
    here_thread.configurations = new std::vector<CallConfiguration>;
  }
  here_thread.configurations->push_back({grid, block, dynamic_smem, stream});
  return 0;
}

CUCO_CUDART Error __cudaPopCallConfiguration(Dim3* grid,
                                             Dim3* block,
                                             std::size_t* dynamic_smem,
                                             StreamHandle* stream) {
  auto* stack = thread().configurations;
  if (stack == nullptr || stack->empty()) return 52;  // cudaErrorMissingConfiguration
  const CallConfiguration top = stack->back();
  stack->pop_back();
  *grid = top.grid;
  *block = top.block;
  *dynamic_smem = top.dynamic_smem;
  *stream = top.stream;
  return 0;
}

CUCO_CUDART Error __cudaGetKernel(Kernel** handle, const void* function) {
  *handle = find_kernel(function);
  return *handle != nullptr ? 0 : done(cuco::wire::kInvalidDeviceFunction);
}

CUCO_CUDART Error cudaGetKernel(Kernel** handle, const void* function) {
  return __cudaGetKernel(handle, function);
}

CUCO_CUDART Error cudaGetFuncBySymbol(Kernel** function, const void* symbol) {
  return __cudaGetKernel(function, symbol);
}
