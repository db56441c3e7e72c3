// SPDX-License-Identifier: Apache-2.0
//
// cuco-device: what cuco-vcluster is for virtual GPUs, for one rank on a real one. It owns the
// buffers, the clock and the copies of outputs; it speaks with the judge as the server does
// (wire/messages_judge.h), and with the rank by a socket and a start page.
//
//   cuco-device --judge FD --rank FD --page FD
//   cuco-device --probe     prints the GPU's name
#include <poll.h>
#include <sys/mman.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include <dlfcn.h>

#include "driver/gpu_memory.h"
#include "driver/gpu_probe.h"
#include "rank/rank_job.h"
#include "rank/start_page.h"
#include "shims/wire/frame_socket.h"
#include "shims/wire/messages_judge.h"
#include "shims/wire/status.h"

namespace cuco::targets {
namespace {

using SteadyClock = std::chrono::steady_clock;
using wire::JudgeReport;

// Twice the L2 of today's largest GPUs, written before each run: no iteration finds its data there.
constexpr std::size_t kFlushBytes = std::size_t{256} << 20U;

// By how much the hand-over of the GPU to this process varies with what ran before (measured on an
// H200: 146 us and 2 us more or less after empty kernels, up to 8 us more after large ones).
constexpr std::chrono::microseconds kHandoverSpread{12};

struct Cuda {
  int (*set_device)(int) = nullptr;
  int (*allocate)(void**, std::size_t) = nullptr;
  int (*copy)(void*, const void*, std::size_t, int) = nullptr;
  int (*fill)(void*, int, std::size_t) = nullptr;
  int (*synchronize)() = nullptr;
  int (*reset_l2)() = nullptr;

  bool load() {
    void* library = ::dlopen("libcudart.so.13", RTLD_NOW | RTLD_GLOBAL);
    if (library == nullptr) return false;
    const auto find = [&](const char* name, auto*& function) {
      function =
          reinterpret_cast<std::remove_reference_t<decltype(function)>>(::dlsym(library, name));
      return function != nullptr;
    };
    return find("cudaSetDevice", set_device) && find("cudaMalloc", allocate) &&
           find("cudaMemcpy", copy) && find("cudaMemset", fill) &&
           find("cudaDeviceSynchronize", synchronize) &&
           find("cudaCtxResetPersistingL2Cache", reset_l2);
  }
};

void* as_pointer(std::uint64_t address) {
  return reinterpret_cast<void*>(address);
}

class Device {
 public:
  Device(const Cuda& cuda, driver::GpuProbe probe, int judge, int rank, rank::StartPage& page)
      : cuda_(cuda), probe_(std::move(probe)), judge_(judge), rank_(rank), page_(page) {}

  int serve() {
    while (true) {
      pollfd fds[2] = {{judge_, POLLIN, 0}, {rank_dead_ ? -1 : rank_, POLLIN, 0}};
      if (::poll(fds, 2, -1) < 0) continue;
      if (fds[1].revents != 0) hear_rank();
      if (fds[0].revents != 0) {
        const auto frame = wire::receive_frame(judge_);
        if (!frame) return 0;  // the judge is done
        serve_judge(*frame);
      }
      update();
    }
  }

 private:
  struct Copy {
    std::uint64_t address = 0;
    std::uint64_t bytes = 0;
    void* kept = nullptr;
    std::size_t capacity = 0;
  };

  void answer(std::uint16_t type, std::int32_t status, wire::Bytes head, wire::Bytes tail = {}) {
    wire::Header header;
    header.type = type;
    header.status = status;
    if (!wire::send_frame(judge_, header, head, tail)) std::exit(0);  // NOLINT
  }

  void hear_rank() {
    const auto frame = wire::receive_frame(rank_);
    const auto report = frame ? wire::read_front<JudgeReport>(frame->payload) : std::nullopt;
    if (!report || report->rank != 0) {
      rank_dead_ = true;
      return;
    }
    report_.phase = report->phase;
    report_.code = report->code;
    tail_.assign(frame->payload.begin() + sizeof(JudgeReport), frame->payload.end());
    if (report->phase == JudgeReport::kAllocated && report->code == 0) {
      tail_.clear();  // ours, not the rank's, are the ones that we will look at
      for (const std::size_t offset : layout_.offsets)
        wire::append(tail_, std::uint64_t{memory_->address() + offset});
    }
    arrived_ = true;
  }

  void update() {
    if (!waiting_) return;
    if (arrived_) {
      waiting_ = false;
      report_.tail_bytes = static_cast<std::uint32_t>(tail_.size());
      std::vector<std::byte> tail;
      wire::append(tail, report_);
      tail.insert(tail.end(), tail_.begin(), tail_.end());
      answer(wire::JudgeWait::kType, 0,
             wire::bytes_of(wire::JudgeWait::Reply{wire::JudgeWait::kReports, 1}), tail);
    } else if (rank_dead_) {
      waiting_ = false;
      answer(wire::JudgeWait::kType, 0,
             wire::bytes_of(wire::JudgeWait::Reply{wire::JudgeWait::kDied, 1}),
             wire::bytes_of_text("rank 0: ended before it should"));
    }
  }

  void serve_judge(const wire::Frame& frame) {
    const wire::Bytes payload = frame.payload;
    bool good = false;
    switch (frame.header.type) {
      case wire::JudgeWait::kType:
        waiting_ = true;
        return;
      case wire::JudgeCommand::kType:
        if (const auto request = wire::read_front<wire::JudgeCommand>(payload)) {
          return command(*request, payload.subspan(sizeof(*request)));
        }
        break;
      case wire::JudgeSnapshot::kType:
        if (const auto request = wire::read_front<wire::JudgeSnapshot>(payload)) {
          good = order(payload.subspan(sizeof(*request)), request->count);
        }
        break;
      case wire::JudgeRead::kType:
        if (const auto request = wire::read_front<wire::JudgeRead>(payload)) return read(*request);
        break;
      case wire::JudgeWrite::kType:
        if (const auto request = wire::read_front<wire::JudgeWrite>(payload)) {
          const wire::Bytes bytes = payload.subspan(sizeof(*request));
          good = is_ours(request->address, bytes.size()) &&
                 cuda_.copy(as_pointer(request->address), bytes.data(), bytes.size(), 1) == 0;
        }
        break;
      default:
        break;
    }
    answer(frame.header.type, good ? 0 : wire::kIllegalState, {});
  }

  [[nodiscard]] bool is_ours(std::uint64_t address, std::uint64_t bytes) const {
    return memory_ && address >= memory_->address() && bytes <= memory_->bytes() &&
           address - memory_->address() <= memory_->bytes() - bytes;
  }

  bool order(wire::Bytes tail, std::uint32_t count) {
    const auto words = wire::read_array<std::uint64_t>(tail, std::size_t{count} * 2);
    if (!words) return false;
    copies_.resize(count);
    for (std::size_t i = 0; i < count; ++i) {
      Copy& copy = copies_[i];
      copy.address = (*words)[2 * i];
      copy.bytes = (*words)[2 * i + 1];
      if (!is_ours(copy.address, copy.bytes)) return false;
      if (copy.capacity < copy.bytes) {
        if (cuda_.allocate(&copy.kept, copy.bytes) != 0) return false;
        copy.capacity = copy.bytes;
      }
    }
    return true;
  }

  void read(const wire::JudgeRead& request) {
    std::vector<std::byte> bytes(request.bytes);
    const void* from = nullptr;
    if (request.rank < 0 && is_ours(request.address, request.bytes)) {
      from = as_pointer(request.address);
    } else if (request.rank == 0 && request.index < copies_.size() &&
               request.address + request.bytes <= copies_[request.index].bytes) {
      from = static_cast<std::byte*>(copies_[request.index].kept) + request.address;
    }
    const bool good = from != nullptr && cuda_.copy(bytes.data(), from, bytes.size(), 2) == 0;
    answer(wire::JudgeRead::kType, good ? 0 : wire::kIllegalState, {},
           good ? wire::Bytes(bytes) : wire::Bytes());
  }

  void command(const wire::JudgeCommand& request, wire::Bytes tail) {
    answer(wire::JudgeCommand::kType, 0, wire::bytes_of(wire::JudgeCommand::Reply{}));
    if (rank_dead_) return;
    if (request.command == JudgeReport::kMakeId) {
      tail_.assign(rank::kUniqueIdBytes, std::byte{});  // one rank makes no communicator of it
      return;                                           // the rank still waits, and has reported
    }
    int fd = -1;
    if (request.command == JudgeReport::kAllocate && !make_memory(tail, &fd)) {
      report_.code = 2;
      const wire::Bytes text = wire::bytes_of_text("cuMemCreate");
      tail_.assign(text.begin(), text.end());
      return;
    }
    arrived_ = false;
    if (request.command == JudgeReport::kRun) make_ready();
    wire::Header header;
    header.type = JudgeReport::kType;
    const JudgeReport::Reply reply{request.command, request.argument};
    if (!wire::send_frame(rank_, header, wire::bytes_of(reply), tail, fd)) rank_dead_ = true;
    if (request.command == JudgeReport::kAllocate) learn_handover();
    if (request.command == JudgeReport::kRun) time_run();
  }

  bool make_memory(wire::Bytes tail, int* fd) {
    const auto job = rank::decode_rank_job(tail);
    if (!job) return false;
    layout_ = rank::lay_out(*job);
    auto memory = driver::GpuMemory::create(layout_.bytes);
    if (!memory) {
      std::fprintf(stderr, "cuco-device: %s\n", memory.error().message().c_str());
      return false;
    }
    memory_ = *memory;
    *fd = memory_->fd();
    return true;
  }

  [[nodiscard]] bool is_over() const {
    pollfd fds[2] = {{judge_, 0, 0}, {rank_, 0, 0}};
    return ::poll(fds, 2, 0) > 0;  // only hang-ups and errors
  }

  /// Spins until `flag` has reached this round; false if one of the others is gone.
  bool spin(const std::atomic<std::uint32_t>& flag) const {
    for (std::uint64_t i = 1; flag.load(std::memory_order_acquire) != round_; ++i) {
      if (i % (1U << 20U) == 0 && is_over()) return false;
    }
    return true;
  }

  struct Round {
    std::chrono::nanoseconds done;  ///< Until the rank said "done"...
    std::chrono::nanoseconds seen;  ///< ...and until the GPU had nothing of it left to do.
  };

  std::optional<Round> time_round() {
    ++round_;
    if (!spin(page_.armed)) return std::nullopt;
    const auto begin = SteadyClock::now();
    page_.go.store(round_, std::memory_order_release);
    if (!spin(page_.done)) return std::nullopt;
    const auto done = SteadyClock::now();
    // Kernels of two processes take turns on the GPU: ours runs when those of the rank have ended,
    // or have used up their turn, and then its memory is read as it is.
    if (!probe_.touch()) return std::nullopt;
    return Round{done - begin, SteadyClock::now() - begin};
  }

  /// The time from one process to the other, from rounds in which nothing was left to do. Most of
  /// them, so that no honest rank is charged for it.
  void learn_handover() {
    std::vector<std::chrono::nanoseconds> times;
    for (int i = 0; i < rank::kEmptyRounds; ++i) {
      const auto round = time_round();
      if (!round) return;  // seen as a rank that ended
      times.push_back(round->seen - round->done);
    }
    std::sort(times.begin(), times.end());
    handover_ = times[times.size() * 9 / 10];
  }

  /// Before each run: is the GPU as it was, and nothing of the data in its caches?
  void make_ready() {
    report_.probe_ps = probe_.time_work().count() * 1000;
    if (flush_ == nullptr && cuda_.allocate(&flush_, kFlushBytes) != 0) flush_ = nullptr;
    if (flush_ != nullptr) cuda_.fill(flush_, static_cast<int>(round_ & 0x7FU), kFlushBytes);
    cuda_.reset_l2();
    cuda_.synchronize();
  }

  void time_run() {
    const auto round = time_round();
    if (!round) return;
    for (const Copy& copy : copies_)
      cuda_.copy(copy.kept, as_pointer(copy.address), copy.bytes, 3);
    cuda_.synchronize();
    // Whoever says "done" too early is charged for what was still running.
    const auto after = round->seen - round->done;
    const bool was_busy = after > handover_ + kHandoverSpread;
    report_.time_ps = (was_busy ? round->seen - handover_ : round->done).count() * 1000;
    report_.after_ps = after.count() * 1000;
    const driver::GpuHealth::Reading health = health_.read();
    report_.clock_mhz = static_cast<std::uint32_t>(health.clock_mhz);
    report_.throttled = health.throttled ? 1 : 0;
  }

  const Cuda& cuda_;
  driver::GpuProbe probe_;
  driver::GpuHealth health_;
  std::chrono::nanoseconds handover_{0};
  int judge_;
  int rank_;
  rank::StartPage& page_;
  rank::RankLayout layout_;
  std::optional<driver::GpuMemory> memory_;
  std::vector<Copy> copies_;
  void* flush_ = nullptr;
  std::uint32_t round_ = 0;
  wire::RankReport report_;
  std::vector<std::byte> tail_;
  bool arrived_ = false;
  bool waiting_ = false;
  bool rank_dead_ = false;
};

}  // namespace
}  // namespace cuco::targets

int main(int argc, char** argv) {
  using namespace cuco;           // NOLINT(google-build-using-namespace): this is its main
  using namespace cuco::targets;  // NOLINT(google-build-using-namespace): likewise
  std::map<std::string, int> fds;
  for (int i = 1; i + 1 < argc; i += 2)
    fds[argv[i]] = std::atoi(argv[i + 1]);
  rank::keep_to_processor(0);
  Cuda cuda;
  if (!cuda.load() || cuda.set_device(0) != 0 || cuda.synchronize() != 0) {
    std::fprintf(stderr, "cuco-device: this machine has no usable GPU, or no libcudart.so.13\n");
    return 3;
  }
  const auto probe = driver::GpuProbe::load();
  if (!probe) {
    std::fprintf(stderr, "cuco-device: %s\n", probe.error().message().c_str());
    return 3;
  }
  if (argc == 2 && std::string_view(argv[1]) == "--probe") {
    const auto name = driver::gpu_name();
    std::printf("%s\n", name ? name->c_str() : "unknown GPU");
    return 0;
  }
  void* page =
      ::mmap(nullptr, rank::kStartPageBytes, PROT_READ | PROT_WRITE, MAP_SHARED, fds["--page"], 0);
  if (page == MAP_FAILED) return 4;
  return Device(cuda, *probe, fds["--judge"], fds["--rank"], *static_cast<rank::StartPage*>(page))
      .serve();
}
