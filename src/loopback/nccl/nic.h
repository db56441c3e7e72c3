// SPDX-License-Identifier: Apache-2.0
/// \file
/// The modelled network: a thread that does what NCCL's proxy and the NIC do. It reads the
/// descriptors that kernels post, and has them delivered on multiprocessors that no rank has, at
/// once or when the network would have. Host-driven collectives are held back likewise.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "loopback/nccl/courier.h"
#include "loopback/nccl/gin_set.h"
#include "loopback/nccl/held_collectives.h"
#include "loopback/network.h"
#include "nccl_core/gin_descriptor.h"

namespace cuco::loopback {

class Nic {
 public:
  static Nic& get();

  void add(const std::shared_ptr<GinSet>& set);
  void remove(const std::shared_ptr<GinSet>& set);
  /// Descriptors and events so far.
  [[nodiscard]] std::uint64_t progress() const { return progress_; }
  /// What it holds for a rank's puts, one line each.
  [[nodiscard]] std::vector<std::string> describe();

  void stop();
  /// After stop().
  [[nodiscard]] const PacingError& pacing_of(int device) {
    return pacing_[static_cast<std::size_t>(device)];
  }

 private:
  /// A delivery whose time has not come.
  struct Due {
    CopyJob job;
    Nanoseconds posted = 0, arrival = 0;
    Address staged = 0;             ///< Where its payload waits; 0: in the sender's window.
    std::uint64_t copy_number = 0;  ///< Of a large payload that is on its way.
    bool is_delivery = true;        ///< Not the part of one that only frees the source.

    [[nodiscard]] bool is_large() const {
      return job.source != 0 && job.bytes > Courier::kMostBytes;
    }
  };
  /// One that the courier has.
  struct Sent {
    std::uint64_t number = 0;
    Nanoseconds posted = 0, arrival = 0;
    Address staged = 0;
    bool is_delivery = true;
    bool waited_itself = false;  ///< The courier, for the moment at which it was due.
  };
  struct Ring {
    std::shared_ptr<GinSet> set;
    int context = 0, source = 0, peer = 0;
    volatile std::uint64_t* queue = nullptr;
    std::uint32_t seen = 0;
    std::size_t lane = 0;
    std::deque<Due> now;  ///< What nobody holds back.
    std::deque<Due> due;
    std::deque<Sent> sent;
  };

  Nic();
  void run();
  void serve(Ring& ring);
  void poll(Ring& ring);
  void take(Ring& ring, const nccl_core::GinDescriptor& descriptor, Nanoseconds now);
  [[nodiscard]] CopyJob job_of(const Ring& ring, const nccl_core::GinDescriptor& descriptor);
  void send_payloads(Ring& ring, std::deque<Due>& queue, Nanoseconds now);
  void deliver(Ring& ring, std::deque<Due>& queue);
  void settle(Ring& ring);
  [[nodiscard]] Nanoseconds time_of(std::uint64_t bytes) const;
  [[nodiscard]] int device_of(const Ring& ring, int rank) const;
  [[nodiscard]] std::optional<Address> stage(std::uint64_t bytes);
  [[nodiscard]] std::string describe(const Ring& ring, bool* can_read);

  std::timed_mutex mutex_;        ///< Of the rings.
  std::atomic<int> visitors_{0};  ///< Who want the mutex, which the thread hardly ever leaves.
  std::vector<std::unique_ptr<Ring>> rings_;
  std::optional<Courier> courier_;
  std::optional<Pacer> pacer_;
  bool is_pacing_ = false;
  std::vector<PacingError> pacing_;  ///< By device that sent.
  std::optional<HeldCollectives> collectives_;
  /// From the courier's order to what it announces; measured all the time.
  double ahead_ = 3000;
  double copy_bytes_per_ns_ = 0;
  Address staging_ = 0;
  std::map<std::uint64_t, std::uint64_t> staged_;  ///< Offset -> bytes.
  std::vector<std::shared_ptr<Clique>> cliques_;
  std::uint64_t cliques_version_ = 0;
  std::atomic<std::uint64_t> progress_{0};
  std::atomic<bool> stops_{false};
  std::thread thread_;
};

}  // namespace cuco::loopback
