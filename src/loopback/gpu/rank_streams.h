// SPDX-License-Identifier: Apache-2.0
/// \file
/// The program's streams, by rank. In a green context the runtime's streams do not synchronise with
/// the default stream; programs rely on it, so that it is done here with events.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "loopback/gpu/driver_calls.h"

namespace cuco::loopback {

class Streams {
 public:
  static Streams& get();

  void add(int rank, CUstream stream, bool is_blocking);
  void remove(CUstream stream);
  /// The rank whose stream it is; `otherwise` for the default stream and streams made elsewhere.
  [[nodiscard]] int rank_of(CUstream stream, int otherwise);
  /// The stream that stands for the calling thread's default stream of a rank.
  [[nodiscard]] CUstream of_thread(int rank);

  /// Around every operation that is put into a stream of a rank, in this order. `what`: a name for
  /// people; "" for what has none; null for what only looks at the stream.
  void before(int rank, CUstream stream);
  void after(int rank, CUstream stream, const char* what);

  /// Work put into it becomes a graph. The default stream cannot.
  [[nodiscard]] static bool is_capturing(CUstream stream);

  /// Waits for all that the rank's streams hold.
  [[nodiscard]] CUresult wait_for(int rank);
  /// One line for every stream that is not done, for people. Ends also where a call into the driver
  /// does not: the watchdog asks.
  [[nodiscard]] std::vector<std::string> unfinished(int rank);
  /// Operations so far, of all ranks.
  [[nodiscard]] std::uint64_t operations() const { return operations_; }

 private:
  struct Stream {
    bool is_blocking = false;
    bool has_new_work = false;  ///< Since the default stream last waited for it.
    std::uint64_t seen = 0;     ///< The default stream's work that it has waited for.
    std::string last;           ///< What it was given last.
    CUevent event = nullptr;
  };
  struct Rank {
    std::map<CUstream, Stream> streams;  ///< The default stream is the null pointer's.
    std::uint64_t default_work = 0;
    CUevent event = nullptr;  ///< After the default stream's last work.
  };
  Rank& rank(int number) { return ranks_[number]; }
  static void order(CUstream first, CUevent* event, CUstream then);

  std::timed_mutex mutex_;  ///< Held across calls into the driver, which may not end.
  std::map<int, Rank> ranks_;
  std::atomic<std::uint64_t> operations_ = 0;
};

}  // namespace cuco::loopback
