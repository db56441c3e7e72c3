// Calls of a communicator, which are one operation each. Those of a group are made together when it
// ends: {{how}}
class Exchanges {
 public:
  static Exchanges& all() {
    static Exchanges instance;
    return instance;
  }
  // Stands for the order of all communication, as memory that all of it writes.
  static uintptr_t order() { return (uintptr_t)&all(); }
  using Call = std::function<ncclResult_t(cudaStream_t)>;
  // `pair` is what a message goes between; what comes for a pair twice in a group has an order.
  struct Pair {
    ncclComm_t comm;
    int peer;
    bool sends;
    bool operator==(const Pair& other) const {
      return comm == other.comm && peer == other.peer && sends == other.sends;
    }
  };

  ncclResult_t add(cudaStream_t stream, const Touches& touches, const Pair& pair, Call call) {
    if (depth_ == 0) return call(Lanes::of(stream).next(touches, true));
    waiting_.push_back({stream, touches, round_of(pair), pair, std::move(call)});
    return ncclSuccess;
  }
  ncclResult_t start() {
    ++depth_;
    return ncclGroupStart();
  }
  ncclResult_t end() {
    if (depth_ > 0) --depth_;
    if (depth_ > 0) return ncclGroupEnd();
    int rounds = 1;
    for (const Waiting& one : waiting_) rounds = one.round < rounds ? rounds : one.round + 1;
    ncclResult_t result = issue(0);
    for (int round = 1; round < rounds; ++round) {
      ncclGroupStart();
      const ncclResult_t issued = issue(round);
      if (result == ncclSuccess) result = issued;
    }
    waiting_.clear();
    return result;
  }

 private:
  struct Waiting {
    cudaStream_t stream;
    Touches touches;
    int round;
    Pair pair;
    Call call;
  };
  int round_of(const Pair& pair) const {
{{round}}
  }
  // The calls of a round, in the group that is open.
  ncclResult_t issue(int round) {
    std::map<cudaStream_t, Touches> touched;
    for (const Waiting& one : waiting_) {
      if (one.round == round) touched[one.stream].add(one.touches);
    }
    std::map<cudaStream_t, cudaStream_t> lanes;
    for (const auto& [stream, touches] : touched) lanes[stream] = Lanes::of(stream).next(touches, true);
    ncclResult_t result = ncclSuccess;
    for (const Waiting& one : waiting_) {
      if (one.round != round) continue;
      const ncclResult_t called = one.call(lanes[one.stream]);
      if (result == ncclSuccess) result = called;
    }
    const ncclResult_t ended = ncclGroupEnd();
    return result != ncclSuccess ? result : ended;
  }

  int depth_ = 0;
  std::vector<Waiting> waiting_;
};

