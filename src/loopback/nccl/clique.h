// SPDX-License-Identifier: Apache-2.0
/// \file
/// One communicator of all its ranks, and what a program's ncclComm_t points to: one rank's part.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "loopback/collective_log.h"
#include "loopback/device/kernel_args.h"
#include "loopback/gpu/driver_calls.h"
#include "loopback/meeting.h"
#include "loopback/nccl/assembly.h"

namespace cuco::loopback {

class Clique {
 public:
  Clique(std::uint64_t number, int ranks);

  [[nodiscard]] int ranks() const { return static_cast<int>(devices.size()); }
  [[nodiscard]] std::string name() const { return "communicator " + std::to_string(number); }
  /// Makes what its kernels need, once all devices are known.
  void prepare();
  [[nodiscard]] CommView view_of(int rank) const;
  /// The meeting of the rank's next set-up call.
  [[nodiscard]] std::shared_ptr<Meeting> next_meeting(int rank, const std::string& call);
  /// Ends what is on its way: kernels that wait, ranks that meet.
  void break_up(const nccl_core::Problem& why);
  [[nodiscard]] nccl_core::Check why_broken();
  /// The rank's process has ended: nobody waits for it in a set-up call.
  void leave(int rank);
  /// What it waits for, one line each.
  [[nodiscard]] std::vector<std::string> waits();
  [[nodiscard]] nccl_core::Check log_call(int rank, const nccl_core::Call& call);

  const std::uint64_t number;
  std::vector<int> devices;  ///< By rank.
  int lsa_size = 1;
  CommView view;                      ///< Of no rank.
  std::atomic<bool> is_ready{false};  ///< view is filled in.

  // The network's thread:
  struct Paced {
    std::uint64_t seen = 0;  ///< Events.
    struct Due {
      std::uint64_t sequence = 0;
      std::int64_t joined = 0;
      std::int64_t when = 0;
      bool is_known = false;
      std::uint64_t number = 0;
    };
    std::vector<Due> due;
    std::vector<Due> released;  ///< The kernel has not answered.
  };
  std::vector<Paced> paced;  ///< By rank.
  struct Round {
    int joined = 0;
  };
  std::map<std::uint64_t, Round> rounds;
  /// By rank, for the report.
  std::vector<std::atomic<std::uint64_t>> collective_bytes, puts, put_bytes;
  std::atomic<bool> has_windows{false};

 private:
  std::mutex mutex_;
  std::map<std::uint64_t, std::shared_ptr<Meeting>> meetings_;
  std::vector<std::uint64_t> next_;
  std::vector<bool> has_left_;
  CollectiveLog log_;
  nccl_core::Check broken_;
};

/// All communicators, for the network's thread and the watchdog.
class Cliques {
 public:
  static Cliques& get();
  /// The one that ranks with this id form.
  [[nodiscard]] std::shared_ptr<Clique> form(std::uint64_t id, int ranks);
  [[nodiscard]] std::shared_ptr<Clique> make(int ranks);
  /// Null: there is none of that number.
  [[nodiscard]] std::shared_ptr<Clique> find(std::uint64_t number);
  [[nodiscard]] std::vector<std::shared_ptr<Clique>> all();
  /// Counts additions: whoever keeps all() asks again when it changes.
  [[nodiscard]] std::uint64_t version() const { return version_; }

 private:
  std::mutex mutex_;
  std::map<std::uint64_t, std::shared_ptr<Clique>> forming_;
  std::vector<std::shared_ptr<Clique>> all_;
  std::atomic<std::uint64_t> version_{0};
  std::uint64_t last_ = 0;
};

/// A reduction made by ncclRedOpCreatePreMulSum.
struct UserOp {
  bool is_live = false;
  nccl_core::DataType type{};
  std::uint64_t scalar = 0;
  Address scalar_address = 0;  ///< Not 0: read it there when the collective runs.
};

}  // namespace cuco::loopback

/// NCCL's name: programs only hold pointers to it.
struct ncclComm {  // NOLINT(readability-identifier-naming)
  cuco::loopback::Membership place;
  int rank = 0;
  int ranks = 0;
  int device = 0;
  bool is_blocking = true;
  /// A non-blocking call that has not ended.
  std::shared_ptr<cuco::loopback::Agreement> in_flight;
  std::function<void(const cuco::nccl_core::Check&)> finish;  ///< Of that call.
  cuco::nccl_core::Code failed = cuco::nccl_core::Code::Success;
  std::string last_error;
  std::vector<cuco::loopback::UserOp> user_ops;
  CUstream last_stream = nullptr;  ///< Of its last operation.
  bool has_last_stream = false;
  CUevent event = nullptr;
};
