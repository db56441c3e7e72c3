// SPDX-License-Identifier: Apache-2.0
/// \file
/// All of NCCL on the server: communicators, what their ranks have set up, what is on its way.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "fabric/fabric.h"
#include "vcluster/core/waits.h"
#include "vcluster/core/work.h"
#include "vcluster/nccl/nccl_clique.h"
#include "vcluster/nccl/nccl_device_comm.h"
#include "vcluster/nccl/nccl_exchange.h"
#include "vcluster/nccl/nccl_gin.h"
#include "vcluster/nccl/nccl_meeting.h"
#include "vcluster/nccl/nccl_window.h"
#include "vgpu/memory/memory.h"

namespace cuco::vcluster {

struct NcclServices {
  Timeline& timeline;
  WorkGraph& works;
  vgpu::Memory& memory;
  fabric::Fabric& fabric;
  std::function<void(const std::string&)> log;
  std::function<void(int device, const std::string&)> fail_device;
  SourceReads sources;
  std::vector<vgpu::Delivery>* deliveries = nullptr;
  RunCheck* check = nullptr;      ///< Null: an ordinary run.
  WrittenTypes* types = nullptr;  ///< Null: nobody compares contents.
  BlockTrace* trace = nullptr;    ///< Null: nobody asks what is read and written.
  /// A collective's kernel has SMs of a device to itself until then. Empty: nobody minds.
  std::function<void(int device, int sms, VTime until)> take_sms;
};

/// The caller of an item of a group.
struct NcclCaller {
  std::uint32_t process = 0;
  std::function<void(NcclReply)> answer;
};

class NcclWorld {
 public:
  explicit NcclWorld(NcclServices services);

  /// A new name for a communicator that is to be made.
  [[nodiscard]] wire::NcclUniqueId::Reply unique_id();

  /// Serves every item but operations; the answer comes at once or when other ranks have come.
  void serve(wire::NcclItemKind kind, wire::Bytes payload, NcclCaller caller);

  /// Operations of one communicator in one group: checked, matched, ready for their stream.
  struct Posted {
    WorkPtr work;                            ///< Null: nothing to hand to a stream.
    std::vector<nccl_core::Check> problems;  ///< By operation.
  };
  Posted post(const CliqueRank& place,
              const std::vector<wire::NcclOperation>& operations,
              VTime launched_at = 0);
  /// What the links and NCCL cost here.
  [[nodiscard]] const hardware::NcclCosts& costs() const { return fabric_.costs(); }
  /// What is wrong with each of these, without posting them.
  std::vector<nccl_core::Check> check(const CliqueRank& place,
                                      const std::vector<wire::NcclOperation>& operations);
  /// How long these would take on idle links.
  [[nodiscard]] VTime predict(const CliqueRank& place, const wire::NcclOperation& operation) const;

  [[nodiscard]] std::optional<CliqueRank> find(std::uint64_t handle, std::uint32_t process) {
    return cliques_.find(handle, process);
  }
  [[nodiscard]] WindowRegistry& windows() { return windows_; }

  /// Devices whose windows a kernel on `device` may load and store, as a bit mask.
  [[nodiscard]] std::uint64_t load_store_peers(int device) const;
  /// More about an illegal address of a kernel on `device`.
  [[nodiscard]] std::optional<std::string> explain(vgpu::Address address, int device) const {
    return windows_.explain(address, device);
  }
  /// What NCCL keeps at an address of its own: a signal, a counter, a barrier.
  [[nodiscard]] std::optional<std::string> identify(vgpu::Address address) const {
    return dev_comms_.identify(services_.memory.canonical(address));
  }
  /// What waits inside NCCL.
  [[nodiscard]] std::vector<WaitingCall> waits() const;
  /// A process is gone: its communicators are broken.
  void process_ended(std::uint32_t process, const std::string& name);

 private:
  using SetupKey = std::pair<std::uint64_t, std::uint64_t>;  ///< Communicator, number of the call.

  void init(wire::Bytes payload, NcclCaller caller);
  void meet(wire::NcclItemKind kind,
            const CliqueRank& place,
            wire::Bytes payload,
            std::vector<int> expected,
            NcclCaller caller);
  void conclude(wire::NcclItemKind kind, Clique& clique, Meeting& meeting);
  void conclude_init(Meeting& meeting);
  void conclude_split(Clique& clique, Meeting& meeting);
  void conclude_shrink(Clique& clique, Meeting& meeting);
  void conclude_windows(Clique& clique, Meeting& meeting);
  void conclude_dev_comm(Clique& clique, Meeting& meeting);
  void shrink(const CliqueRank& place, wire::Bytes payload, NcclCaller caller);
  void end(wire::NcclItemKind kind, const CliqueRank& place, NcclCaller caller);
  NcclReply release(wire::NcclItemKind kind, const CliqueRank& place, wire::Bytes payload);
  Exchange& exchange(Clique& clique);
  nccl_core::Check check_part(const CliqueRank& place, const ExchangePart& part);
  void cancel_meetings(const Clique& clique, const nccl_core::Problem& why);

  NcclServices services_;
  fabric::Fabric& fabric_;
  CliqueRegistry cliques_;
  WindowRegistry windows_;
  DevCommRegistry dev_comms_;
  std::map<std::uint64_t, std::unique_ptr<Exchange>> exchanges_;      ///< By clique.
  std::map<std::pair<std::uint64_t, std::uint64_t>, Meeting> inits_;  ///< By unique id.
  std::map<SetupKey, Meeting> setups_;
  std::uint64_t next_id_ = 1;
};

}  // namespace cuco::vcluster
