// Functions with the signatures of NCCL's whose work is done by kernels of this program: ranks write
// into each other's memory themselves, and no NCCL kernel runs.
//
// NCCL promises that calls on one communicator happen in the order in which they are made, whatever
// their streams, and so it is here: a call on another stream than the one before waits for that one.
// Calls of a group that are no messages start at once, those that are start when the group ends.

struct Communicator {
  Site site;
  int device = 0;
  std::string clique;  // Communicators of one process that have the same are closed together.
  int splits = 0;      // How often it was split.
  int goodbyes = 0;    // What NCCL has yet to be told.
  bool has_run = false;
  cudaStream_t stream = nullptr;  // Of the last call.
  cudaEvent_t before = nullptr;   // Ends what came before a call on another stream.
  Group<unsigned char> messages;
  cudaStream_t messages_on = nullptr;
  Forwarding forwarding;
};
constexpr int kFinalize = 1, kDestroy = 2;

class Communicators {
 public:
  static Communicators& all() {
    static Communicators instance;
    return instance;
  }

  // How many of a clique there will be in this process: known before any can be left, since NCCL
  // makes them for all ranks at once.
  void expect(const std::string& clique, int n) {
    const std::lock_guard<std::mutex> lock(mutex_);
    Clique& one = cliques_[clique];
    if (one.number == 0) one.number = ++made_;
    one.members += n;
  }
  std::string clique_of_all() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return "all " + std::to_string(++made_);
  }
  // All ranks split a communicator in the same order.
  std::string clique_of_part(ncclComm_t comm, int color) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto whole = known_.find(comm);
    if (whole == known_.end()) return "part " + std::to_string(++made_);
    return whole->second.clique + "/" + std::to_string(++whole->second.splits) + "." +
           std::to_string(color);
  }

  // Collective: it waits for the other ranks.
  ncclResult_t add(const ncclComm_t* comms, int n, const std::string& clique) {
    std::vector<Site> sites(n);
    const ncclResult_t opened = open<kPath>(comms, n, {{size}}, sites.data());
    if (opened != ncclSuccess) return opened;
    std::vector<Forwarding> forwarding(n);
    const ncclResult_t ready = Forwarding::open(comms, n, sites.data(), forwarding.data());
    if (ready != ncclSuccess) return ready;  // for forwarding
    const DeviceGuard guard;
    const std::lock_guard<std::mutex> lock(mutex_);  // not while others are waited for
    for (int i = 0; i < n; ++i) {
      Communicator& added = known_[comms[i]];
      added.site = sites[i];
      added.clique = clique;
      added.forwarding = std::move(forwarding[i]);
      if (ncclCommCuDevice(comms[i], &added.device) != ncclSuccess) return ncclInvalidArgument;
      if (cudaSetDevice(added.device) != cudaSuccess ||
          cudaEventCreateWithFlags(&added.before, cudaEventDisableTiming) != cudaSuccess) {
        return ncclUnhandledCudaError;
      }
    }
    return ncclSuccess;
  }

  // The last one of this process to leave closes all of its clique. If each thread closed its own,
  // its last kernel would wait for threads that are still in cudaFree(), which waits for kernels.
  ncclResult_t leave(ncclComm_t comm, int goodbye) {
    std::string clique;
    if (!has_left(comm, goodbye, &clique)) return ncclSuccess;
    return clique.empty() ? say({comm}, goodbye) : close_all_of(clique);
  }

  // In the order in which they were made: it is the same on all ranks.
  ncclResult_t close_all() {
    std::map<int, std::string> by_number;
    for (const auto& [clique, one] : cliques_) by_number[one.number] = clique;
    ncclResult_t result = ncclSuccess;
    for (const auto& [number, clique] : by_number) {
      const ncclResult_t closed = close_all_of(clique);
      if (result == ncclSuccess) result = closed;
    }
    return result;
  }

  Communicator* find(ncclComm_t comm) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = known_.find(comm);
    return found == known_.end() ? nullptr : &found->second;
  }
{{by_device}}
 private:
  struct Clique {
    int number = 0, members = 0, left = 0;
  };

  // Whether it is the last one, or closed already: then it is of no clique.
  bool has_left(ncclComm_t comm, int goodbye, std::string* clique) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = known_.find(comm);
    if (found == known_.end()) return true;
    Communicator& leaving = found->second;
    *clique = leaving.clique;
    Clique& others = cliques_[*clique];
    if (leaving.goodbyes == 0) ++others.left;
    leaving.goodbyes |= goodbye;
    return others.left >= others.members;
  }

  static ncclResult_t say(const std::vector<ncclComm_t>& comms, int goodbye) {
    ncclResult_t result = ncclSuccess;
    if (goodbye == kFinalize) result = ncclGroupStart();
    for (ncclComm_t comm : comms) {
      const ncclResult_t said =
          goodbye == kFinalize ? ncclCommFinalize(comm) : ncclCommDestroy(comm);
      if (result == ncclSuccess) result = said;
    }
    const ncclResult_t ended = goodbye == kFinalize ? ncclGroupEnd() : ncclSuccess;
    return result != ncclSuccess ? result : ended;
  }

  ncclResult_t close_all_of(const std::string& clique) {
    std::vector<Site> sites;
    std::vector<Forwarding> forwarding;
    std::vector<ncclComm_t> finalized, destroyed;
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      for (auto it = known_.begin(); it != known_.end();) {
        Communicator& one = it->second;
        if (one.clique != clique) {
          ++it;
          continue;
        }
        sites.push_back(one.site);
        forwarding.push_back(std::move(one.forwarding));
        cudaEventDestroy(one.before);
        if (one.goodbyes & kFinalize) finalized.push_back(it->first);
        if (one.goodbyes & kDestroy) destroyed.push_back(it->first);
        it = known_.erase(it);
      }
      cliques_.erase(clique);
    }
    if (sites.empty()) return ncclSuccess;
    ncclResult_t result = close<kPath>(sites.data(), (int)sites.size());
    for (Forwarding& one : forwarding) one.close();
    if (result == ncclSuccess && !finalized.empty()) result = say(finalized, kFinalize);
    if (result == ncclSuccess && !destroyed.empty()) result = say(destroyed, kDestroy);
    return result;
  }

  std::mutex mutex_;
  std::map<ncclComm_t, Communicator> known_;
  std::map<std::string, Clique> cliques_;
  int made_ = 0;
};

// What a group of this thread has collected.
struct OpenGroup {
  int depth = 0;
  std::vector<std::pair<std::string, ncclComm_t*>> made;  // with their cliques
  std::vector<Communicator*> with_messages;
};
inline OpenGroup& open_group() {
  static thread_local OpenGroup group;
  return group;
}

// Makes the device of a communicator current while a call is made, and keeps the calls' order.
class Call {
 public:
  Call(ncclComm_t comm, cudaStream_t stream) : communicator_(Communicators::all().find(comm)) {
    if (communicator_ != nullptr) start(*communicator_, stream);
  }
  Call(Communicator& communicator, cudaStream_t stream) : communicator_(&communicator) {
    start(communicator, stream);
  }
  bool is_known() const { return communicator_ != nullptr; }
  const Site& site() const { return communicator_->site; }

 private:
  void start(Communicator& c, cudaStream_t stream) {
    cudaSetDevice(c.device);
    cudaStreamCaptureStatus capturing = cudaStreamCaptureStatusNone;
    if (c.has_run && c.stream != stream) {
      cudaStreamIsCapturing(stream, &capturing);
      // A captured call cannot wait for one that was not: the program orders the replay itself.
      if (capturing == cudaStreamCaptureStatusNone) {
        cudaEventRecord(c.before, c.stream);
        cudaStreamWaitEvent(stream, c.before, 0);
      }
    }
    c.has_run = true;
    c.stream = stream;
  }

  DeviceGuard guard_;
  Communicator* communicator_;
};

inline size_t size_of(ncclDataType_t type) {
  switch (type) {
    case ncclInt8:
    case ncclUint8:
      return 1;
    case ncclFloat16:
    case ncclBfloat16:
      return 2;
    case ncclInt64:
    case ncclUint64:
    case ncclFloat64:
      return 8;
    default:
      return 4;
  }
}
