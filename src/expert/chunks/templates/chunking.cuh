// The host's half of all-gathers from inside kernels: plans, and the memory that peers write.

constexpr Issuer kIssuer = Issuer::{{issuer}};
constexpr size_t kChunkBytes = (size_t){{kib}} << 10;  // at least
constexpr int kMostChunks = {{most}};
constexpr bool kProducerWaits = {{waits}};  // else a kernel in the place of the all-gather does

// A window of this communicator, of which this rank's part is here.
struct SharedMemory {
  char* base;
  size_t bytes;
  ncclWindow_t window;
  bool owned;
};

// The arguments of an all-gather.
struct GatherCall {
  const char* from;
  char* to;
  size_t bytes;
  cudaStream_t stream;

  bool operator==(const GatherCall& other) const {
    return from == other.from && to == other.to && bytes == other.bytes && stream == other.stream;
  }
};

// What no kernel has sent is sent by this one, in the same chunks.
__global__ void gather_now(const __grid_constant__ Forward forward) {
  const ChunkSender<kPath, kIssuer> sender(forward);
  sender.block_done(forward.from, Tiles{});
}

__global__ void await_gathered(const __grid_constant__ Forward forward) {
  ChunkSender<kPath, kIssuer>::await_sent(forward);
}

// What a communicator has for it.
class Forwarding {
 public:
  // Collective.
  static ncclResult_t open(const ncclComm_t* comms, int n, const Site*, Forwarding* made) {
    std::vector<Site> own(n);
    const ncclResult_t opened = cuco::open<kPath>(comms, n, {kMostChunks + 2, 0}, own.data());
    for (int i = 0; i < n; ++i) {
      made[i].comm_ = comms[i];
      made[i].site_ = own[i];
      if (kIssuer != Issuer::OneOfSm || opened != ncclSuccess) continue;
      const DeviceGuard guard;
      if (use_device_of(comms[i]) != ncclSuccess ||
          cudaMalloc(&made[i].queue_, sizeof(TileQueue)) != cudaSuccess ||
          cudaMemset(made[i].queue_, 0, sizeof(TileQueue)) != cudaSuccess ||
          cudaDeviceSynchronize() != cudaSuccess) {
        return ncclUnhandledCudaError;
      }
    }
    return opened;
  }

  // When all ranks have met: nobody is at the memory any more.
  void close() {
    const DeviceGuard guard;
    if (comm_ == nullptr || use_device_of(comm_) != ncclSuccess) return;
    ncclDevCommDestroy(comm_, &site_.comm);
    ncclCommWindowDeregister(comm_, site_.window);
    ncclMemFree(site_.memory);
    cudaFree(site_.rounds);
    cudaFree(queue_);
    for (const SharedMemory& shared : shared_) {
      ncclCommWindowDeregister(comm_, shared.window);
      if (shared.owned) ncclMemFree(shared.base);
    }
  }

  // Lets peers write memory of the program that is symmetric already. Collective.
  ncclResult_t share(void* memory, size_t bytes) {
    SharedMemory shared{(char*)memory, bytes, nullptr, false};
    const ncclResult_t result =
        ncclCommWindowRegister(comm_, memory, bytes, &shared.window, NCCL_WIN_COLL_SYMMETRIC);
    if (result == ncclSuccess) shared_.push_back(shared);
    return result;
  }

  // Memory that peers may write. Collective: all ranks gather the same, so they ask for the same.
  ncclResult_t allocate(void** memory, size_t bytes) {
    SharedMemory shared{nullptr, bytes, nullptr, true};
    const ncclResult_t result = cuco::share(&comm_, 1, bytes, memory, &shared.window);
    shared.base = (char*)*memory;
    if (result == ncclSuccess) shared_.push_back(shared);
    return result;
  }

  // An all-gather that will come. Where its result is no such memory, it is done in its place.
  void plan(const GatherCall& call) {
    now_ = {};
    planned_ = call;
    is_taken_ = false;
    is_planned_ = fill(call);
  }

  // For a kernel that makes what is sent.
  Forward for_kernel() {
    if (!is_planned_ || is_taken_) return {};
    is_taken_ = true;
    return now_;
  }

  // In the place of the all-gather: nothing: it was not planned.
  std::optional<ncclResult_t> end(const GatherCall& call) {
    if (!is_planned_) return std::nullopt;
    is_planned_ = false;
    if (!(call == planned_)) return ncclInvalidUsage;  // what was sent was something else
    if (!is_taken_) gather_now<<<1, 512, 0, call.stream>>>(now_);
    if (!kProducerWaits) await_gathered<<<1, 128, 0, call.stream>>>(now_);
    return launched();
  }

 private:
  bool fill(const GatherCall& call) {
    if (call.bytes == 0) return false;
    const size_t all = call.bytes * site_.comm.nRanks;
    for (const SharedMemory& shared : shared_) {
      if (call.to < shared.base || call.to + all > shared.base + shared.bytes) continue;
      const size_t part = call.bytes * site_.comm.rank;
      const size_t least = divide_up(divide_up(call.bytes, kMostChunks), 16) * 16;
      const size_t chunk = std::max(kChunkBytes, least);
      now_ = {site_,      shared.window, call.to - shared.base + part,
              call.from,  call.bytes,    chunk,
              (int)divide_up(call.bytes, chunk),
              kProducerWaits,
              queue_};
      return true;
    }
    return false;
  }

  ncclComm_t comm_ = nullptr;
  Site site_{};
  TileQueue* queue_ = nullptr;
  std::vector<SharedMemory> shared_;
  GatherCall planned_{};
  Forward now_{};
  bool is_planned_ = false, is_taken_ = false;
};
