// SPDX-License-Identifier: Apache-2.0
/// \file
/// The modelled network: a thread that does what NCCL's proxy and the NIC do. It reads the
/// descriptors that kernels post, and delivers with small kernels on multiprocessors that no rank
/// has, at once or when the network would have. Host-driven collectives are held back likewise.
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

#include "loopback/nccl/gin_set.h"
#include "loopback/network.h"
#include "nccl_core/gin_descriptor.h"

namespace cuco::loopback {

class Nic {
 public:
  static Nic& get();

  /// Deliveries and collectives take a network's time, or come late.
  [[nodiscard]] bool is_pacing() const { return is_pacing_; }

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
    std::uint64_t staged_bytes = 0;
    bool has_payload = false;  ///< It is on its way, or was small.
  };
  /// One that was launched.
  struct Launched {
    std::uint64_t id = 0;
    Nanoseconds posted = 0, arrival = 0;
    Address staged = 0;
  };
  struct Ring {
    std::shared_ptr<GinSet> set;
    int context = 0, source = 0, peer = 0;
    volatile std::uint64_t* queue = nullptr;
    std::uint32_t seen = 0;
    std::size_t lane = 0;
    std::deque<Due> due;
    std::deque<Launched> launched;
    volatile std::uint64_t* done = nullptr;
    std::uint64_t last_id = 0;
  };
  /// A stream of deliveries in order, and what will go there next.
  struct Lane {
    CUstream stream = nullptr;
    Address ticket = 0;
    CopyBatch batch;
    std::uint64_t bytes = 0;
  };

  Nic();
  void run();
  void poll(Ring& ring, Nanoseconds now);
  void take(Ring& ring, const nccl_core::GinDescriptor& descriptor, Nanoseconds now);
  [[nodiscard]] CopyJob job_of(const Ring& ring, const nccl_core::GinDescriptor& descriptor);
  void deliver(Ring& ring, Nanoseconds now);
  void settle(Ring& ring, Nanoseconds now);
  void push(std::size_t lane, const CopyJob& job);
  void flush(Lane& lane);
  void flush_all();
  void poll_collectives(Clique& clique, Nanoseconds now);
  void hold_back(Clique& clique, int rank, const Event& event, Nanoseconds now);
  [[nodiscard]] int device_of(const Ring& ring, int rank) const;
  [[nodiscard]] std::optional<Address> stage(std::uint64_t bytes);

  std::mutex mutex_;  ///< Of the rings.
  std::vector<std::unique_ptr<Ring>> rings_;
  std::vector<Lane> lanes_;
  std::optional<Pacer> pacer_;
  bool is_pacing_ = false;
  std::vector<PacingError> pacing_;  ///< By device that sent.
  /// From a launch to what it announces; measured all the time.
  double ahead_ = 6000;
  double copy_bytes_per_ns_ = 0;
  Address staging_ = 0;
  std::map<std::uint64_t, std::uint64_t> staged_;  ///< Offset -> bytes.
  std::vector<std::shared_ptr<Clique>> cliques_;
  std::uint64_t cliques_version_ = 0;
  std::atomic<std::uint64_t> progress_{0};
  std::atomic<bool> stops_{false};
  std::thread thread_;
};

[[nodiscard]] Nanoseconds now_ns();

}  // namespace cuco::loopback
