// The host's half of sends from inside kernels: plans, and the memory that peers write.

struct Message {
  char* data;
  size_t bytes;
  int peer;

  bool operator==(const Message& other) const { return !(*this < other) && !(other < *this); }
  bool operator<(const Message& other) const {
    return std::tie(data, bytes, peer) < std::tie(other.data, other.bytes, other.peer);
  }
};

// The messages of one exchange, in the order of the calls.
struct Plan {
  std::vector<Message> sends, receives;

  bool operator==(const Plan& other) const {
    return sends == other.sends && receives == other.receives;
  }
  bool operator<(const Plan& other) const {
    return std::tie(sends, receives) < std::tie(other.sends, other.receives);
  }
};

inline Plan plan_of(const Group<unsigned char>& group) {
  Plan plan;
  for (const auto& m : group.messages) {
    for (int p = 0; p < kMaxRanks; ++p) {
      if (m.sends[p]) plan.sends.push_back({(char*)m.to[p], m.to_count[p], p});
      if (m.receives[p]) plan.receives.push_back({(char*)m.from[p], m.from_count[p], p});
    }
  }
  return plan;
}

// How many messages with the same peer come before message i.
inline int number_of(const std::vector<Message>& messages, size_t i) {
  int number = 0;
  for (size_t k = 0; k < i; ++k) number += messages[k].peer == messages[i].peer;
  return number;
}

// A window of this communicator, of which this rank's part is here.
struct SharedMemory {
  char* base;
  size_t bytes;
  ncclWindow_t window;
  bool owned;
};

// A plan as kernels read it.
class PlanTables {
 public:
  PlanTables(const Plan& plan, int rank) : plan_(plan), rank_(rank) {}

  ncclResult_t build(const std::vector<SharedMemory>& windows) {
    std::set<size_t> borders;
    for (const auto* messages : {&plan_.sends, &plan_.receives}) {
      for (size_t i = 0; i < messages->size(); ++i) {
        const Message& m = (*messages)[i];
        if (number_of(*messages, i) >= kMostMessages) return ncclInvalidUsage;
        borders.insert((size_t)m.data);
        borders.insert((size_t)m.data + m.bytes);
      }
    }
    size_t begin = 0;
    for (const size_t end : borders) {
      if (begin != 0) add_segment(begin, end - begin);
      begin = end;
    }
    for (size_t i = 0; i < plan_.receives.size(); ++i) {
      if (plan_.receives[i].peer == rank_) continue;
      if (!add_landing(i, windows)) return ncclInvalidArgument;
    }
    for (const Message& m : plan_.sends) forward.receivers |= bit(m.peer);
    fill_buckets();
    begin_behind_this_rank();
    return ncclSuccess;
  }

  // To the device, on a stream of its own, so that a stream may be captured meanwhile.
  size_t size() const {
    return segments_.size() * sizeof(Segment) + targets_.size() * sizeof(Target) +
           landings_.size() * sizeof(Landing) + buckets_.size() * sizeof(int);
  }
  cudaError_t upload(char* memory, cudaStream_t stream) {
    // A thread that captures may not wait for any stream, unless it says that it knows.
    const Relaxed relaxed;
    cudaError_t result = put(segments_, &forward.segments, &memory, stream);
    if (result == cudaSuccess) result = put(targets_, &forward.targets, &memory, stream);
    if (result == cudaSuccess) result = put(landings_, &forward.landings, &memory, stream);
    if (result == cudaSuccess) result = put(buckets_, &forward.buckets, &memory, stream);
    forward.n_segments = (int)segments_.size();
    forward.n_targets = (int)targets_.size();
    forward.n_landings = (int)landings_.size();
    return result == cudaSuccess ? cudaStreamSynchronize(stream) : result;
  }

  Forward forward{};

 private:
  struct Relaxed {
    Relaxed() { cudaThreadExchangeStreamCaptureMode(&mode); }
    ~Relaxed() { cudaThreadExchangeStreamCaptureMode(&mode); }
    cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
  };
  unsigned long long bit(int peer) const { return peer == rank_ ? 0 : 1ull << peer; }

  static bool holds(const Message& m, size_t address) {
    return address - (size_t)m.data < m.bytes;
  }

  // The bytes are in the same messages, from the first to the last.
  void add_segment(size_t begin, size_t bytes) {
    Segment segment{begin, bytes, 0, (int)targets_.size(), 0, forward.n_pieces};
    bool is_sent = false, is_received = false;
    for (size_t i = 0; i < plan_.sends.size(); ++i) {
      const Message& m = plan_.sends[i];
      if (!holds(m, begin)) continue;
      is_sent = true;
      Target target = target_of(i, begin - (size_t)m.data);
      target.from = begin;
      target.begins = segment.count == 0 ? (int)segments_.size() : -1;
      if (target.peer == rank_ && target.skipped == begin) continue;  // it is there already
      targets_.push_back(target);
      ++segment.count;
    }
    for (const Message& m : plan_.receives) is_received = is_received || holds(m, begin);
    if (is_sent ? segment.count == 0 : !is_received) return;
    segments_.push_back(segment);
    if (segment.count > 0) forward.n_pieces += divide_up(bytes, kPiece);
    forward.bytes += segment.count * bytes;
    const size_t pairs = bytes % 2 == 0 ? bytes / 2 * (bytes - 1) : (bytes - 1) / 2 * bytes;
    forward.address_sum += segment.count * (bytes * begin + pairs);
  }

  // If all ranks began with the same peer, its link would be the only one in use.
  void begin_behind_this_rank() {
    int nearest = kMaxRanks;
    for (const Segment& segment : segments_) {
      if (segment.count == 0) continue;
      const int ranks = forward.tables.ranks;
      const int away = (targets_[segment.first].peer - rank_ - 1 + ranks) % ranks;
      if (away >= nearest) continue;
      nearest = away;
      forward.first_piece = segment.first_piece;
    }
  }

  // So that few segments have to be looked at for an address: most buckets are in one.
  void fill_buckets() {
    if (segments_.empty()) return;
    const size_t most = std::clamp<size_t>(32 * segments_.size(), 256, 4096);
    const size_t first = segments_.front().begin;
    const size_t last = segments_.back().begin + segments_.back().bytes - 1;
    int& shift = forward.bucket_shift;
    for (shift = 4; (last >> shift) - (first >> shift) >= most;) ++shift;
    forward.first_begin = first;
    forward.first_bucket = first >> shift;
    forward.n_buckets = (last >> shift) - forward.first_bucket + 1;
    int before = 0;  // segments that begin before the bucket or with it
    for (size_t b = 0; b < forward.n_buckets; ++b) {
      const size_t begin = (forward.first_bucket + b) << shift, end = begin + ((size_t)1 << shift);
      while (before < (int)segments_.size() && segments_[before].begin <= begin) ++before;
      const Segment* in = before == 0 ? nullptr : &segments_[before - 1];
      const bool whole = in != nullptr && end <= in->begin + in->bytes;
      buckets_.push_back(whole ? before - 1 : ~before);
    }
  }

  Target target_of(size_t send, size_t skipped) const {
    const int peer = plan_.sends[send].peer, number = number_of(plan_.sends, send);
    if (peer != rank_) return {peer, number, skipped, 0, 0, -1};
    // To itself: the address.
    for (size_t i = 0; i < plan_.receives.size(); ++i) {
      const Message& m = plan_.receives[i];
      if (m.peer == rank_ && number_of(plan_.receives, i) == number)
        return {peer, number, (size_t)m.data + skipped, 0, 0, -1};
    }
    return {peer, number, (size_t)plan_.sends[send].data + skipped, 0, 0, -1};
  }

  bool add_landing(size_t receive, const std::vector<SharedMemory>& windows) {
    const Message& m = plan_.receives[receive];
    forward.senders |= bit(m.peer);
    if (m.bytes == 0) return true;
    for (size_t w = 0; w < windows.size(); ++w) {
      const size_t offset = m.data - windows[w].base;
      if (m.data < windows[w].base || offset + m.bytes > windows[w].bytes) continue;
      landings_.push_back({m.peer, number_of(plan_.receives, receive), w << kWindowShift | offset});
      return true;
    }
    return false;
  }

  template <typename T, typename To>
  static cudaError_t put(const std::vector<T>& items, To* to, char** memory, cudaStream_t stream) {
    *to = (To)*memory;
    const size_t bytes = items.size() * sizeof(T);
    *memory += bytes;
    return bytes == 0 ? cudaSuccess
                      : cudaMemcpyAsync((void*)*to, items.data(), bytes, cudaMemcpyHostToDevice,
                                        stream);
  }

  const Plan& plan_;
  const int rank_;
  std::vector<Segment> segments_;
  std::vector<Target> targets_;
  std::vector<Landing> landings_;
  std::vector<int> buckets_;
};

// What a communicator has for it.
class Forwarding {
 public:
  // Collective.
  static ncclResult_t open(const ncclComm_t* comms, int n, const Site* sites, Forwarding* made) {
    const DeviceGuard guard;
    const int ranks = sites[0].comm.nRanks;
    std::vector<void*> memory(n);
    std::vector<ncclWindow_t> windows(n);
    const size_t bytes = ForwardTables::bytes(ranks);
    const ncclResult_t shared = cuco::share(comms, n, bytes, memory.data(), windows.data());
    if (shared != ncclSuccess) return shared;
    for (int i = 0; i < n; ++i) {
      const ncclResult_t opened = made[i].open_one(comms[i], sites[i]);
      if (opened != ncclSuccess) return opened;
      const ncclResult_t added = made[i].add({(char*)memory[i], bytes, windows[i], true});
      if (added != ncclSuccess) return added;
    }
    return ncclSuccess;
  }

  void close() {
    if (comm_ == nullptr) return;
    for (const SharedMemory& shared : shared_) {
      ncclCommWindowDeregister(comm_, shared.window);
      if (shared.owned) ncclMemFree(shared.base);
    }
    for (const auto& [plan, entry] : known_) {
      if (!entry.in_pool) cudaFree(entry.memory);
    }
    cudaFree(tables_.bases);
    cudaFree(pool_);
    cudaStreamDestroy(uploads_);
  }

  // Lets peers write memory of the program that is symmetric already. Collective.
  ncclResult_t share(void* memory, size_t bytes) {
    SharedMemory shared{(char*)memory, bytes, nullptr, false};
    const ncclResult_t result =
        ncclCommWindowRegister(comm_, memory, bytes, &shared.window, NCCL_WIN_COLL_SYMMETRIC);
    return result == ncclSuccess ? add(shared) : result;
  }

  // Memory that peers may write, as much as the rank needs that needs most. Collective.
  ncclResult_t allocate(void** memory, size_t bytes) {
    unsigned long long most = bytes;
    unsigned long long* value = tables_.sums(kSums);
    cudaMemcpy(value, &most, sizeof most, cudaMemcpyHostToDevice);
    find_largest<kPath><<<1, 64>>>(site_, value);
    if (cudaMemcpy(&most, value, sizeof most, cudaMemcpyDeviceToHost) != cudaSuccess)
      return ncclUnhandledCudaError;
    SharedMemory shared{nullptr, most, nullptr, true};
    const ncclResult_t result = cuco::share(&comm_, 1, most, memory, &shared.window);
    shared.base = (char*)*memory;
    return result == ncclSuccess ? add(shared) : result;
  }

  // An exchange that will come. What is wrong with it, its end says.
  ncclResult_t plan(Plan plan, cudaStream_t stream) {
    failed_ = find(plan, stream);
    planned_ = std::move(plan);
    is_planned_ = true;
    is_forwarded_ = is_open_ = false;
    now_.stays = true;
    return ncclSuccess;
  }
  // What kernels store to be sent need not stay here.
  void leave() { now_.stays = false; }
  bool is_planned() const { return is_planned_; }
  const Plan& planned() const { return planned_; }
  ncclComm_t comm() const { return comm_; }

  // For a kernel that may store what is sent. `beside`: others with the plan may run beside it.
  Forward for_kernel(bool beside = false) {
    if (!is_planned_ || failed_ != ncclSuccess) return {};
    is_forwarded_ = true;
    Forward forward = now_;
    forward.sends = forward.n_segments > 0;
    forward.opens = !is_open_;
    forward.is_open = is_open_;
    is_open_ = !beside;
    return forward;
  }
  // For one that runs before all of those.
  Forward for_opener() {
    if (!is_planned_ || failed_ != ncclSuccess || is_open_) return {};
    is_open_ = true;
    Forward forward = now_;
    forward.opens = true;
    return forward;
  }

  // In the place of the exchange.
  ncclResult_t end(const Plan& calls, cudaStream_t stream) {
    is_planned_ = false;
    if (failed_ != ncclSuccess) return failed_;
    if (!(calls == planned_)) return ncclInvalidUsage;  // what was stored went somewhere else
    if (!now_.stays && !is_forwarded_ && now_.bytes > 0) return ncclInvalidUsage;  // nobody made it
    const size_t wanted = is_forwarded_ ? 1 : divide_up(now_.bytes, 32 << 10);
    const int blocks = (int)std::clamp<size_t>(wanted, 1, site_.channels);
    end_forwarding<<<blocks, 512, 0, stream>>>(now_, is_forwarded_);
    return launched();
  }

 private:
  struct Entry {
    Forward forward;
    char* memory;
    bool in_pool;
  };
  static constexpr size_t kPool = 4 << 20, kMostEntries = 256;

  ncclResult_t open_one(ncclComm_t comm, const Site& site) {
    comm_ = comm;
    site_ = site;
    tables_.rank = site.comm.rank;
    tables_.ranks = site.comm.nRanks;
    const size_t ranks = tables_.ranks, bases = kMostWindows * ranks * sizeof(char*);
    const size_t sums = (kSums + 1) * kSumStride * sizeof(unsigned long long);
    const size_t bytes = bases + sums + (2 * ranks + 5) * sizeof(unsigned);
    if (use_device_of(comm) != ncclSuccess ||
        cudaMalloc(&tables_.bases, bytes) != cudaSuccess ||
        cudaMemset(tables_.bases, 0, bytes) != cudaSuccess ||
        cudaMalloc(&pool_, kPool) != cudaSuccess ||
        cudaStreamCreateWithFlags(&uploads_, cudaStreamNonBlocking) != cudaSuccess) {
      return ncclUnhandledCudaError;
    }
    tables_.stored = (unsigned long long*)((char*)tables_.bases + bases);
    tables_.sent = (unsigned*)tables_.sums(kSums + 1);
    tables_.received = tables_.sent + ranks;
    tables_.begun = tables_.received + ranks;
    tables_.ended = tables_.begun + 1;
    tables_.blocks = tables_.begun + 2;
    tables_.sought = tables_.begun + 3;
    tables_.found = tables_.begun + 4;
    return ncclSuccess;
  }

  ncclResult_t add(const SharedMemory& shared) {
    if (shared_.size() == kMostWindows) return ncclInvalidUsage;
    const DeviceGuard guard;
    const ncclResult_t device = use_device_of(comm_);
    if (device != ncclSuccess) return device;
    find_bases<<<1, kMaxRanks>>>(shared.window, tables_.bases + shared_.size() * tables_.ranks,
                                 tables_.ranks);
    if (cudaDeviceSynchronize() != cudaSuccess) return ncclUnhandledCudaError;
    shared_.push_back(shared);
    return ncclSuccess;
  }

  // Plans come again and again: what the device has is not sent to it twice.
  ncclResult_t find(const Plan& plan, cudaStream_t stream) {
    const auto known = known_.find(plan);
    if (known != known_.end()) {
      now_ = known->second.forward;
      return ncclSuccess;
    }
    PlanTables tables(plan, tables_.rank);
    tables.forward.tables = tables_;
    const ncclResult_t built = tables.build(shared_);
    if (built != ncclSuccess) return built;
    Entry entry{};
    const ncclResult_t made = make_room(divide_up(tables.size(), 16) * 16, stream, &entry);
    if (made != ncclSuccess) return made;
    if (tables.upload(entry.memory, uploads_) != cudaSuccess) return ncclUnhandledCudaError;
    now_ = entry.forward = tables.forward;
    known_.emplace(plan, entry);
    return ncclSuccess;
  }

  // A captured stream allows no allocation, and its graph keeps what it has.
  ncclResult_t make_room(size_t bytes, cudaStream_t stream, Entry* entry) {
    cudaStreamCaptureStatus capturing = cudaStreamCaptureStatusNone;
    cudaStreamIsCapturing(stream, &capturing);
    entry->in_pool = capturing != cudaStreamCaptureStatusNone;
    if (entry->in_pool) {
      if (bytes > kPool - used_) return ncclInvalidUsage;
      entry->memory = pool_ + used_;
      used_ += bytes;
      return ncclSuccess;
    }
    if (known_.size() >= kMostEntries) forget(stream);
    return as_result(cudaMalloc(&entry->memory, bytes + 1));
  }
  void forget(cudaStream_t stream) {
    cudaStreamSynchronize(stream);
    for (auto it = known_.begin(); it != known_.end();) {
      if (!it->second.in_pool) cudaFree(it->second.memory);
      it = it->second.in_pool ? std::next(it) : known_.erase(it);
    }
  }

  ncclComm_t comm_ = nullptr;
  Site site_{};
  ForwardTables tables_{};
  std::vector<SharedMemory> shared_;
  std::map<Plan, Entry> known_;
  char* pool_ = nullptr;
  size_t used_ = 0;
  cudaStream_t uploads_ = nullptr;
  Plan planned_;
  Forward now_{};
  ncclResult_t failed_ = ncclSuccess;
  bool is_planned_ = false, is_forwarded_ = false, is_open_ = false;
};
