// SPDX-License-Identifier: Apache-2.0
/// \file
/// What all ranks of a communicator decide together, and where: in this process if ranks are its
/// threads, else in the network's process, which does the same for ranks that are elsewhere.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "loopback/device/kernel_args.h"
#include "loopback/meeting.h"
#include "loopback/nccl/requests.h"
#include "nccl_core/collective.h"

namespace cuco::loopback {

/// One rank's place in a communicator.
struct Membership {
  std::uint64_t number = 0;  ///< The communicator's; 0: none yet.
  int rank = 0;
  int ranks = 0;
  int lsa_size = 1;
  std::vector<int> devices;  ///< By rank.
  CommView view;

  [[nodiscard]] std::string name() const { return "communicator " + std::to_string(number); }
};

/// One rank's part in a set-up call. Which members count depends on the call.
struct SetUpRequest {
  enum class Call : std::uint8_t { InitRank, Split, WindowRegister, DevCommCreate };
  Call call = Call::InitRank;
  std::uint64_t number = 0;  ///< Of the communicator; of InitRank: the id's.
  int rank = 0;
  int ranks = 0;   ///< Of InitRank.
  int device = 0;  ///< Of InitRank and Split.
  int color = 0;   ///< Of Split; negative: in no new communicator.
  int key = 0;
  WindowRequest window;
  DevCommRequest dev_comm;
};

/// What it gets.
struct SetUpAnswer {
  Membership place;         ///< Of InitRank and Split.
  Address description = 0;  ///< Of WindowRegister.
  DevCommAnswer dev_comm;
};

[[nodiscard]] const char* name_of(SetUpRequest::Call call);

class Assembly {
 public:
  virtual ~Assembly() = default;
  static Assembly& get();

  struct Joined {
    std::shared_ptr<Agreement> agreement;  ///< Null: there is a problem.
    nccl_core::Check problem;
    std::uint64_t number = 0;  ///< The communicator's.
  };
  /// Brings one rank's part. `answer` is there when the agreement is.
  [[nodiscard]] virtual Joined join(const SetUpRequest& request,
                                    const std::shared_ptr<SetUpAnswer>& answer) = 0;
  /// Before a collective is put into its stream.
  [[nodiscard]] virtual nccl_core::Check log(const Membership& member,
                                             const nccl_core::Call& call) = 0;
  [[nodiscard]] virtual nccl_core::Check why_broken(const Membership& member) = 0;
  virtual void break_up(const Membership& member, const nccl_core::Problem& why) = 0;
  /// The rank has destroyed it.
  virtual void leave(const Membership& member) = 0;
  /// False: no such window, or device communicator, of this rank.
  [[nodiscard]] virtual bool release_window(const Membership& member, Address description) = 0;
  [[nodiscard]] virtual bool release_dev_comm(const Membership& member, Address resources) = 0;
};

/// Of this process.
[[nodiscard]] Assembly& local_assembly();

}  // namespace cuco::loopback
