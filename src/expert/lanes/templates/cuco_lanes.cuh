// SPDX-License-Identifier: Apache-2.0
// Work that a program gives to one stream, done on several where nothing orders it. It needs the
// CUDA runtime, nothing else.
//
// The idea. An operation (a launch, a copy, an exchange) says which memory it touches. It runs on
// one of a few LANES: the program's own stream, streams beside it, and one for all communication.
// It waits for the operations before it that it has a hazard with, and for no others:
//   it reads what they write, it writes what they read, or both write the same.
// Memory is told apart by allocation. A pointer into none that is known may lead anywhere: such an
// operation waits for all before it, and all after it wait for it. Operations may write TOGETHER:
// they wait for what was before the first of them, not for each other.
//
// Why that is safe:
// - Whoever looks at the program's stream sees all of it: join() lets it wait for all lanes. It is
//   called at the end of a run and before all that the program orders itself.
// - Communication stays in the order in which the program has it, on a lane of its own: the ranks
//   agree on that order as before.
// - A lane waits only for what was enqueued before. Kernels that compute wait for nobody while they
//   run, so those that wait for other ranks come onto the GPU at last; they come first where
//   both could.
// - Events may be used again at once: who waits for one waits for what it stood for then. All of it
//   may be captured into a graph.
// What the program owes: it writes nothing through pointers to const, and one thread gives all work.
#pragma once

#include <cstdint>
#include <cstring>
#include <map>
#include <vector>

#include <cuda_runtime.h>

namespace cuco {

constexpr int kLanes = 4;               // the first is the program's stream
constexpr int kExchange = kLanes - 1;  // for communication

// The memory that is known, by where it begins.
class Allocations {
 public:
  static Allocations& all() {
    static Allocations instance;
    return instance;
  }
  void add(const void* begin, size_t bytes) {
    if (begin != nullptr) bytes_[(uintptr_t)begin] = bytes;
  }
  void remove(const void* begin) {
    bytes_.erase((uintptr_t)begin);
  }
  // Where the allocation begins that the address is in; 0 if it is in none.
  uintptr_t begin_of(uintptr_t address) {
    auto next = bytes_.upper_bound(address);
    if (next == bytes_.begin()) return 0;
    --next;
    return address - next->first < next->second ? next->first : 0;
  }

 private:
  std::map<uintptr_t, size_t> bytes_;
};

// What an operation does to memory.
struct Touches {
  struct Touch {
    uintptr_t allocation;
    bool writes;
    uintptr_t together = 0;  // who else writes there at the same time; 0: nobody
  };
  std::vector<Touch> list;
  bool everything = false;

  void add(const void* pointer, bool writes) {
    if (pointer == nullptr) return;
    const uintptr_t allocation = Allocations::all().begin_of((uintptr_t)pointer);
    if (allocation == 0) everything = true;
    list.push_back({allocation, writes});
  }
  // A word of an argument: any number, or a pointer.
  void add_word(uintptr_t word) {
    const uintptr_t allocation = Allocations::all().begin_of(word);
    if (allocation != 0) return list.push_back({allocation, true});
    cudaPointerAttributes attributes;
    const bool may_be_pointer = word >> 32 != 0 && word >> 56 == 0;
    if (may_be_pointer && cudaPointerGetAttributes(&attributes, (const void*)word) == cudaSuccess) {
      everything = everything || attributes.type != cudaMemoryTypeUnregistered;
    }
  }
  void add(const Touches& other) {
    list.insert(list.end(), other.list.begin(), other.list.end());
    everything = everything || other.everything;
  }
};

template <typename... Pointers>
Touches reads(Pointers... pointers) {
  Touches touches;
  (touches.add(pointers, false), ...);
  return touches;
}
template <typename... Pointers>
Touches writes(Pointers... pointers) {
  Touches touches;
  (touches.add(pointers, true), ...);
  return touches;
}
// Arguments that hold pointers somewhere in them: what those lead to may be written.
template <typename... Values>
Touches holds(const Values&... values) {
  Touches touches;
  const auto scan = [&](const void* value, size_t bytes) {
    for (size_t at = 0; at + sizeof(uintptr_t) <= bytes; at += sizeof(uintptr_t)) {
      uintptr_t word;
      memcpy(&word, (const char*)value + at, sizeof(word));
      touches.add_word(word);
    }
  };
  (scan(&values, sizeof(values)), ...);
  return touches;
}
inline Touches everything() {
  Touches touches;
  touches.everything = true;
  return touches;
}

// Streams and events of one device that nobody uses at the moment.
struct LaneSet {
  cudaStream_t streams[kLanes] = {};  // the first is not ours
  std::vector<cudaEvent_t> events;
};
class LaneSets {
 public:
  static LaneSets& all() {
    static LaneSets instance;
    return instance;
  }
  LaneSet take() {
    int device = 0;
    cudaGetDevice(&device);
    std::vector<LaneSet>& free = free_[device];
    if (!free.empty()) {
      LaneSet set = free.back();
      free.pop_back();
      return set;
    }
    int least = 0, greatest = 0;
    cudaDeviceGetStreamPriorityRange(&least, &greatest);
    LaneSet set;
    for (int i = 1; i < kLanes; ++i) {
      // Others wait for what communication brings: its blocks come first.
      cudaStreamCreateWithPriority(&set.streams[i], cudaStreamNonBlocking,
                                   i == kExchange ? greatest : least);
    }
    return set;
  }
  void give_back(LaneSet set) {
    int device = 0;
    cudaGetDevice(&device);
    free_[device].push_back(set);
  }
  void destroy() {
    for (auto& device : free_) {
      for (LaneSet& set : device.second) {
        for (int i = 1; i < kLanes; ++i) cudaStreamDestroy(set.streams[i]);
        for (cudaEvent_t event : set.events) cudaEventDestroy(event);
      }
    }
    free_.clear();
  }

 private:
  std::map<int, std::vector<LaneSet>> free_;
};

// The lanes of one stream of the program.
class Lanes {
 public:
  static Lanes& of(cudaStream_t stream) {
    Lanes& lanes = known()[stream];
    lanes.origin_ = stream;
    return lanes;
  }
  static void join_all() {
    for (auto& lanes : known()) lanes.second.join();
  }

  // From here to join() operations may leave the stream.
  void begin() { active_ = true; }

  // The stream for an operation that is enqueued before the next call.
  cudaStream_t next(const Touches& touches, bool communicates) {
    if (!active_) return origin_;
    if (operations_.empty()) fork();
    close();
    const std::vector<int> before = before_of(touches);
    const int lane = communicates ? kExchange : touches.everything ? 0 : lane_behind(before);
    Operation operation = {lane, {}};
    if (tails_[lane] >= 0) operation = operations_[tails_[lane]];
    for (const int other : before) wait(operation, other);
    ++operation.clock[lane];
    tails_[lane] = (int)operations_.size();
    operations_.push_back(operation);
    open_ = true;
    note(touches);
    return set_.streams[lane];
  }

  // The program's stream waits for all that it was asked to do.
  void join() {
    active_ = false;
    if (operations_.empty()) return;
    close();
    Operation end = operations_[tails_[0]];
    for (int lane = 1; lane < kLanes; ++lane) {
      if (tails_[lane] >= 0) wait(end, tails_[lane]);
    }
    operations_.clear();
    hazards_.clear();
    LaneSets::all().give_back(set_);
  }

 private:
  // `clock` has, for each lane, how many of its operations are over when this one is.
  struct Operation {
    int lane;
    int clock[kLanes];
  };
  struct Hazard {
    std::vector<int> writers;  // the last one, or those that write together
    std::vector<int> readers;  // since then
    uintptr_t together = 0;
    std::vector<int> before;  // what the first of those that write together waited for

    bool is_joined_by(const Touches::Touch& touch) const {
      return touch.together != 0 && touch.together == together && readers.empty();
    }
  };

  static std::map<cudaStream_t, Lanes>& known() {
    static std::map<cudaStream_t, Lanes> lanes;
    return lanes;
  }

  // What the stream has been asked to do before is the first operation.
  void fork() {
    set_ = LaneSets::all().take();
    set_.streams[0] = origin_;
    for (int& tail : tails_) tail = -1;
    operations_.push_back({0, {1}});
    tails_[0] = barrier_ = 0;
    open_ = true;
  }

  // What was enqueued since the last call has an end that others can wait for.
  void close() {
    if (!open_) return;
    const size_t last = operations_.size() - 1;
    while (set_.events.size() <= last) {
      cudaEvent_t event = nullptr;
      cudaEventCreateWithFlags(&event, cudaEventDisableTiming);
      set_.events.push_back(event);
    }
    cudaEventRecord(set_.events[last], set_.streams[operations_[last].lane]);
    open_ = false;
  }

  void wait(Operation& operation, int other) {
    const Operation& before = operations_[other];
    if (operation.clock[before.lane] >= before.clock[before.lane]) return;
    if (operation.lane != before.lane) {
      cudaStreamWaitEvent(set_.streams[operation.lane], set_.events[other], 0);
    }
    for (int lane = 0; lane < kLanes; ++lane) {
      if (operation.clock[lane] < before.clock[lane]) operation.clock[lane] = before.clock[lane];
    }
  }

  // The operations that one has to wait for, the last first.
  std::vector<int> before_of(const Touches& touches) {
    std::vector<bool> chosen(operations_.size(), false);
    chosen[barrier_] = true;
    if (touches.everything) {
      for (const int tail : tails_) {
        if (tail >= 0) chosen[tail] = true;
      }
    }
    for (const Touches::Touch& touch : touches.list) {
      const auto found = hazards_.find(touch.allocation);
      if (found == hazards_.end()) continue;
      const Hazard& hazard = found->second;
      const bool joins = hazard.is_joined_by(touch);
      for (const int other : joins ? hazard.before : hazard.writers) chosen[other] = true;
      if (!touch.writes || joins) continue;
      for (const int reader : hazard.readers) chosen[reader] = true;
    }
    std::vector<int> before;
    for (int i = (int)chosen.size() - 1; i >= 0; --i) {
      if (chosen[i]) before.push_back(i);
    }
    return before;
  }

  // A lane that ends with something that is waited for anyway, or one that all of it is waited for
  // of, or else the one that has been left alone for longest.
  int lane_behind(const std::vector<int>& before) const {
    for (const int other : before) {
      const int lane = operations_[other].lane;
      if (lane != kExchange && tails_[lane] == other) return lane;
    }
    int best = 0;
    for (int lane = 0; lane < kExchange; ++lane) {
      const int tail = tails_[lane];
      if (tail < 0) return lane;
      for (const int other : before) {
        if (operations_[other].clock[lane] >= operations_[tail].clock[lane]) return lane;
      }
      if (tail < tails_[best]) best = lane;
    }
    return best;
  }

  // What the last operation touches is known to those that come after it.
  void note(const Touches& touches) {
    const int last = (int)operations_.size() - 1;
    if (touches.everything) {
      barrier_ = last;
      hazards_.clear();
      return;
    }
    for (const Touches::Touch& touch : touches.list) {
      Hazard& hazard = hazards_[touch.allocation];
      if (!touch.writes) {
        hazard.readers.push_back(last);
      } else if (!hazard.writers.empty() && hazard.writers.back() == last) {
        if (touch.together == 0) hazard.together = 0;
      } else if (hazard.is_joined_by(touch)) {
        hazard.writers.push_back(last);
      } else {
        hazard.before = hazard.writers;
        hazard.before.insert(hazard.before.end(), hazard.readers.begin(), hazard.readers.end());
        hazard.writers = {last};
        hazard.readers.clear();
        hazard.together = touch.together;
      }
    }
  }

  cudaStream_t origin_ = nullptr;
  bool active_ = false;
  LaneSet set_;
  std::vector<Operation> operations_;  // since the fork
  int tails_[kLanes] = {};             // the last operation of each lane
  int barrier_ = 0;                    // all that come after it wait for this one
  bool open_ = false;                  // the last one has no event yet
  std::map<uintptr_t, Hazard> hazards_;
};

// The stream for what is enqueued next, instead of `stream`.
template <typename... All>
cudaStream_t lane(cudaStream_t stream, const All&... all) {
  Touches touches;
  (touches.add(all), ...);
  return Lanes::of(stream).next(touches, false);
}

// While it lives, work leaves the stream where nothing orders it. At its end the stream has waited
// for all lanes, whatever way is taken out of the function.
class Joined {
 public:
  explicit Joined(cudaStream_t stream) : stream_(stream) { Lanes::of(stream).begin(); }
  ~Joined() { Lanes::of(stream_).join(); }
  Joined(const Joined&) = delete;

 private:
  cudaStream_t stream_;
};

}  // namespace cuco
