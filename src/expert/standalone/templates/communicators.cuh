// Functions with the signatures of NCCL's whose work is done by kernels of this program: ranks write
// into each other's memory themselves, and no NCCL kernel runs.
//
// NCCL promises that calls on one communicator happen in the order in which they are made, whatever
// their streams, and so it is here: a call on another stream than the one before waits for that one.
// Calls of a group that are no messages start at once, those that are start when the group ends.

struct Communicator {
  Site site;
  int device;
  int family;  // Communicators of one process that were made together are closed together.
  bool has_run;
  cudaStream_t stream;  // Of the last call.
  cudaEvent_t before;   // Ends what came before a call on another stream.
  Group<unsigned char> messages;
  cudaStream_t messages_on;
  Forwarding forwarding;
};

class Communicators {
 public:
  static Communicators& all() {
    static Communicators instance;
    return instance;
  }

  // Collective: it waits for the other ranks.
  ncclResult_t add(const ncclComm_t* comms, int n) {
    std::vector<Site> sites(n);
    const ncclResult_t opened = open<kPath>(comms, n, {{size}}, sites.data());
    if (opened != ncclSuccess) return opened;
    std::vector<Forwarding> forwarding(n);
    const ncclResult_t ready = Forwarding::open(comms, n, sites.data(), forwarding.data());
    if (ready != ncclSuccess) return ready;  // for forwarding
    const DeviceGuard guard;
    const std::lock_guard<std::mutex> lock(mutex_);  // not while others are waited for
    ++families_;
    for (int i = 0; i < n; ++i) {
      Communicator& added = known_[comms[i]];
      added = Communicator{sites[i], 0, families_, false, nullptr, nullptr, {}, nullptr};
      added.forwarding = std::move(forwarding[i]);
      if (ncclCommCuDevice(comms[i], &added.device) != ncclSuccess) return ncclInvalidArgument;
      if (cudaSetDevice(added.device) != cudaSuccess ||
          cudaEventCreateWithFlags(&added.before, cudaEventDisableTiming) != cudaSuccess) {
        return ncclUnhandledCudaError;
      }
    }
    return ncclSuccess;
  }

  // Closes it and all that were made with it. Later calls for those find nothing to close.
  ncclResult_t remove(ncclComm_t comm) {
    std::vector<Site> sites;
    std::vector<Forwarding> forwarding;
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      const auto found = known_.find(comm);
      if (found == known_.end()) return ncclSuccess;
      const int family = found->second.family;
      for (auto it = known_.begin(); it != known_.end();) {
        if (it->second.family == family) {
          sites.push_back(it->second.site);
          forwarding.push_back(std::move(it->second.forwarding));
          cudaEventDestroy(it->second.before);
          it = known_.erase(it);
        } else {
          ++it;
        }
      }
    }
    const ncclResult_t closed = close<kPath>(sites.data(), (int)sites.size());
    for (Forwarding& one : forwarding) one.close();
    return closed;
  }

  // In the order in which they were made: it is the same on all ranks.
  ncclResult_t remove_all() {
    for (int family = 1; family <= families_; ++family) {
      for (const auto& [comm, communicator] : known_) {
        if (communicator.family != family) continue;
        const ncclResult_t removed = remove(comm);
        if (removed != ncclSuccess) return removed;
        break;
      }
    }
    return ncclSuccess;
  }

  Communicator* find(ncclComm_t comm) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = known_.find(comm);
    return found == known_.end() ? nullptr : &found->second;
  }
{{by_device}}
 private:
  std::mutex mutex_;
  std::map<ncclComm_t, Communicator> known_;
  int families_ = 0;
};

// What a group of this thread has collected.
struct OpenGroup {
  int depth = 0;
  std::vector<ncclComm_t*> made;
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
