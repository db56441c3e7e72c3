// SPDX-License-Identifier: Apache-2.0
//
// cuco-rank: what runs inside a rank's sandbox. It loads libcudart and libnccl from the folder it
// is given, makes the communicator and all buffers, and only then loads the candidate, whose
// process it is from there on. It is convenience, not trust: everything that counts is read from
// outside.
//
//   cuco-rank CANDIDATE.so RANK RANKS LIBRARIES
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include <dlfcn.h>

#include "driver/gpu_memory.h"
#include "driver/gpu_probe.h"
#include "rank/rank_job.h"
#include "rank/start_page.h"
#include "shims/wire/client.h"
#include "shims/wire/frame_socket.h"
#include "shims/wire/messages_judge.h"

namespace cuco::rank {
namespace {

using wire::JudgeReport;

/// In the place of the libraries' folder: the machine's own, and its first GPU.
const std::string kRealGpu = "-";

/// Matches cuco_context of include/cuco/workload.h, without CUDA's headers.
struct Context {
  int rank = 0;
  int ranks = 0;
  void* comm = nullptr;
  int sets = 0;
  const long long* params = nullptr;
  int n_params = 0;
  void* const* inputs = nullptr;
  void* const* outputs = nullptr;
  const std::size_t* input_bytes = nullptr;
  const std::size_t* output_bytes = nullptr;
  int n_inputs = 0;
  int n_outputs = 0;
};

struct UniqueId {
  char bytes[kUniqueIdBytes];
};

/// The functions that the shim itself calls, from the libraries that the candidate will use.
struct Libraries {
  const wire::ClientApi* client = nullptr;
  int (*count_devices)(int*) = nullptr;
  int (*set_device)(int) = nullptr;
  int (*create_stream)(void**, unsigned) = nullptr;
  int (*synchronize)(void*) = nullptr;
  const char* (*error_text)(int) = nullptr;
  int (*make_id)(UniqueId*) = nullptr;
  int (*init)(void**, int, UniqueId, int) = nullptr;
  int (*allocate)(void**, std::size_t) = nullptr;
};

[[noreturn]] void give_up(const char* what) {
  const char* why = ::dlerror();  // NOLINT(concurrency-mt-unsafe): one thread so far
  std::fprintf(stderr, "cuco-rank: %s: %s\n", what, why != nullptr ? why : "failed");
  std::exit(120);  // NOLINT(concurrency-mt-unsafe): one thread so far
}

template <typename Function>
void find(void* library, const char* name, Function*& function) {
  function = reinterpret_cast<Function*>(::dlsym(library, name));
  if (function == nullptr) give_up(name);
}

/// Ours from the folder that we were given, and from nowhere else: a real libnccl that the loader
/// happens to find would run, and outside every check.
void* load_from(const std::string& folder, const char* name) {
  void* library = ::dlopen((folder + "/" + name).c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (library == nullptr) give_up(name);
  return library;
}

Libraries load_libraries(const std::string& folder) {
  const bool real = folder == kRealGpu;
  void* cudart = real ? ::dlopen("libcudart.so.13", RTLD_NOW | RTLD_GLOBAL)
                      : load_from(folder, "libcudart.so.13");
  if (cudart == nullptr) give_up("libcudart.so.13");
  Libraries libraries;
  find(cudart, "cudaGetDeviceCount", libraries.count_devices);
  find(cudart, "cudaSetDevice", libraries.set_device);
  find(cudart, "cudaStreamCreateWithFlags", libraries.create_stream);
  find(cudart, "cudaStreamSynchronize", libraries.synchronize);
  find(cudart, "cudaGetErrorString", libraries.error_text);
  if (real) return libraries;  // one rank alone: there is nobody to communicate with
  const wire::ClientApi* (*client)() = nullptr;
  find(cudart, wire::kClientApiSymbol, client);
  libraries.client = client();
  void* nccl = load_from(folder, "libnccl.so.2");
  find(nccl, "ncclGetUniqueId", libraries.make_id);
  find(nccl, "ncclCommInitRank", libraries.init);
  find(nccl, "ncclMemAlloc", libraries.allocate);
  return libraries;
}

class Rank {
 public:
  Rank(int rank, std::string candidate, const std::string& libraries)
      : rank_(rank), candidate_(std::move(candidate)), libraries_(load_libraries(libraries)) {
    if (libraries != kRealGpu) return;
    void* page =
        ::mmap(nullptr, kStartPageBytes, PROT_READ | PROT_WRITE, MAP_SHARED, kStartPageFd, 0);
    if (page == MAP_FAILED) give_up("map the start page");
    page_ = static_cast<StartPage*>(page);
    keep_to_processor(1);
  }

  [[noreturn]] void serve() {
    report(JudgeReport::kStarted, 0, {});
    while (true) {
      switch (command_.command) {
        case JudgeReport::kMakeId:
          make_id();
          break;
        case JudgeReport::kAllocate:
          allocate();
          break;
        case JudgeReport::kSetUpNow:
          set_up();
          break;
        case JudgeReport::kRun:
          run();
          break;
        default:
          if (teardown_ != nullptr) teardown_(state_);
          std::exit(0);  // NOLINT(concurrency-mt-unsafe): the candidate's threads are its affair
      }
    }
  }

 private:
  void report(std::uint32_t phase, std::int32_t code, wire::Bytes tail) {
    JudgeReport message;
    message.phase = phase;
    message.rank = rank_;
    message.code = code;
    if (page_ != nullptr) return report_by_socket(message, tail);
    wire::Bytes answer;
    if (wire::call(*libraries_.client, message, &command_, tail, &answer) != wire::kSuccess) {
      std::fprintf(stderr, "cuco-rank: the virtual cluster is gone\n");
      std::exit(121);  // NOLINT(concurrency-mt-unsafe)
    }
    tail_.assign(answer.begin(), answer.end());
  }

  void report_by_socket(const JudgeReport& message, wire::Bytes tail) {
    wire::Header header;
    header.type = JudgeReport::kType;
    std::optional<wire::Frame> frame;
    if (wire::send_frame(kRankSocketFd, header, wire::bytes_of(message), tail)) {
      frame = wire::receive_frame(kRankSocketFd);
    }
    const auto reply = frame ? wire::read_front<JudgeReport::Reply>(frame->payload) : std::nullopt;
    if (!reply) {
      std::fprintf(stderr, "cuco-rank: the judge is gone\n");
      std::exit(121);  // NOLINT(concurrency-mt-unsafe)
    }
    command_ = *reply;
    tail_.assign(frame->payload.begin() + sizeof(*reply), frame->payload.end());
    shared_ = std::move(frame->fd);
  }

  /// Maps the buffers that the process with the clock has made.
  void map_buffers() {
    const auto job = decode_rank_job(tail_);
    if (!job) give_up("job description");
    job_ = *job;
    int code = libraries_.set_device(0);
    if (code == 0) code = libraries_.create_stream(&stream_, 1);
    const RankLayout layout = lay_out(job_);
    const auto memory = driver::GpuMemory::open(shared_.get(), layout.bytes);
    if (!memory || code != 0) {
      const std::string why = memory ? "cudaStreamCreate" : memory.error().message();
      return report(JudgeReport::kAllocated, 1, wire::bytes_of_text(why));
    }
    const std::size_t inputs = static_cast<std::size_t>(job_.sets) * job_.input_bytes.size();
    for (std::size_t i = 0; i < layout.offsets.size(); ++i) {
      (i < inputs ? inputs_ : outputs_)
          .push_back(reinterpret_cast<void*>(memory->address() + layout.offsets[i]));
    }
    auto probe = driver::GpuProbe::load();
    if (!probe) {
      return report(JudgeReport::kAllocated, 1, wire::bytes_of_text(probe.error().message()));
    }
    probe_ = *probe;
    for (int i = 0; i < kEmptyRounds; ++i)
      run_round([&] { return probe_->touch() ? 0 : 1; });
    report(JudgeReport::kAllocated, 0, {});
  }

  /// One round by the start page. The GPU's context is ours when the clock starts: changing it
  /// takes longer than many a kernel.
  template <typename Work>
  int run_round(Work work) {
    static_cast<void>(probe_->touch());
    page_->armed.store(++round_, std::memory_order_release);
    while (page_->go.load(std::memory_order_acquire) != round_) {
    }
    const int result = work();
    page_->done.store(round_, std::memory_order_release);
    return result;
  }

  void make_id() {
    UniqueId id{};
    const int code = libraries_.make_id(&id);
    report(JudgeReport::kMadeId, code, wire::bytes_of(id));
  }

  void allocate() {
    if (page_ != nullptr) return map_buffers();
    const auto job = decode_rank_job(tail_);
    if (!job) give_up("job description");
    job_ = *job;
    UniqueId id{};
    std::memcpy(id.bytes, job_.unique_id.data(), sizeof(id.bytes));
    // A rank sees the GPUs of its own node.
    int devices = 0;
    const char* what = "cudaGetDeviceCount";
    int code = libraries_.count_devices(&devices);
    const auto next = [&](const char* name, auto call) {
      if (code != 0) return;
      what = name;
      code = call();
    };
    next("cudaSetDevice", [&] { return libraries_.set_device(rank_ % devices); });
    next("cudaStreamCreate", [&] { return libraries_.create_stream(&stream_, 1); });
    next("ncclCommInitRank", [&] { return libraries_.init(&comm_, job_.ranks, id, rank_); });
    for (int set = 0; set < job_.sets; ++set) {
      for (const std::size_t bytes : job_.input_bytes) {
        next("ncclMemAlloc", [&] { return add_buffer(inputs_, bytes); });
      }
      for (const std::size_t bytes : job_.output_bytes) {
        next("ncclMemAlloc", [&] { return add_buffer(outputs_, bytes); });
      }
    }
    if (code != 0) return report(JudgeReport::kAllocated, code, wire::bytes_of_text(what));
    std::vector<std::byte> addresses;
    for (const auto* buffers : {&inputs_, &outputs_}) {
      for (void* buffer : *buffers)
        wire::append(addresses, reinterpret_cast<std::uint64_t>(buffer));
    }
    report(JudgeReport::kAllocated, 0, addresses);
  }

  int add_buffer(std::vector<void*>& buffers, std::size_t bytes) {
    void* buffer = nullptr;
    const int code = libraries_.allocate(&buffer, bytes + kGuardBytes);
    buffers.push_back(buffer);
    return code;
  }

  void set_up() {
    void* candidate = ::dlopen(candidate_.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (candidate == nullptr) give_up("load the candidate");
    int (*setup)(const Context*, void**) = nullptr;
    find(candidate, "cuco_setup", setup);
    find(candidate, "cuco_run", run_);
    find(candidate, "cuco_teardown", teardown_);
    context_ = {.rank = rank_,
                .ranks = job_.ranks,
                .comm = comm_,
                .sets = job_.sets,
                .params = job_.params.data(),
                .n_params = static_cast<int>(job_.params.size()),
                .inputs = inputs_.data(),
                .outputs = outputs_.data(),
                .input_bytes = job_.input_bytes.data(),
                .output_bytes = job_.output_bytes.data(),
                .n_inputs = static_cast<int>(job_.input_bytes.size()),
                .n_outputs = static_cast<int>(job_.output_bytes.size())};
    const int code = setup(&context_, &state_);
    report(JudgeReport::kSetUp, code, {});
  }

  void run() {
    const char* text = "";
    std::vector<std::int32_t> sets = {command_.argument};
    if (const auto several = wire::read_array<std::int32_t>(tail_, tail_.size() / 4);
        several && !several->empty()) {
      sets = *several;
    }
    const auto work = [&] {
      for (const std::int32_t set : sets) {
        const int failed = run_(state_, set, stream_);
        if (failed == 0) continue;
        text = "cuco_run failed";
        return failed;
      }
      const int code = libraries_.synchronize(stream_);
      if (code != 0) text = libraries_.error_text(code);
      return code;
    };
    const int code = page_ != nullptr ? run_round(work) : work();
    report(JudgeReport::kRan, code, wire::bytes_of_text(text));
  }

  int rank_;
  std::string candidate_;
  Libraries libraries_;
  StartPage* page_ = nullptr;  ///< On a real GPU.
  std::optional<driver::GpuProbe> probe_;
  std::uint32_t round_ = 0;
  wire::Fd shared_;
  JudgeReport::Reply command_;
  std::vector<std::byte> tail_;
  RankJob job_;
  void* stream_ = nullptr;
  void* comm_ = nullptr;
  std::vector<void*> inputs_;
  std::vector<void*> outputs_;
  Context context_;
  void* state_ = nullptr;
  int (*run_)(void*, int, void*) = nullptr;
  void (*teardown_)(void*) = nullptr;
};

}  // namespace
}  // namespace cuco::rank

int main(int argc, char** argv) {
  if (argc != 5) return 124;
  ::setenv("OMPI_COMM_WORLD_RANK", argv[2], 1);
  ::setenv("OMPI_COMM_WORLD_LOCAL_RANK", argv[2], 1);
  ::setenv("OMPI_COMM_WORLD_SIZE", argv[3], 1);
  cuco::rank::Rank(std::atoi(argv[2]), argv[1], argv[4]).serve();
}
