// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "loopback/nccl/assembly.h"
#include "loopback/nccl/clique.h"
#include "loopback/nccl/dev_comms.h"
#include "loopback/nccl/windows.h"

namespace cuco::loopback {

using nccl_core::Check;
using nccl_core::Code;
using nccl_core::Problem;

namespace {

/// What a rank brought, and where its answer goes.
struct Part {
  SetUpRequest request;
  std::shared_ptr<SetUpAnswer> answer;
};
using Parts = std::vector<std::shared_ptr<Part>>;

Membership member_of(const Clique& clique, int rank) {
  return {.number = clique.number,
          .rank = rank,
          .ranks = clique.ranks(),
          .lsa_size = clique.lsa_size,
          .devices = clique.devices,
          .view = clique.view_of(rank)};
}

/// Several ranks on one device are an error in NCCL, too.
Check conclude_init(const std::shared_ptr<Clique>& clique, const Parts& parts) {
  std::set<int> seen;
  for (std::size_t rank = 0; rank < parts.size(); ++rank) {
    const int device = parts[rank]->request.device;
    clique->devices[rank] = device;
    if (!seen.insert(device).second) {
      return Problem{Code::InvalidUsage, "ncclCommInitRank: two ranks use device " +
                                             std::to_string(device) +
                                             "; each rank needs its own: call cudaSetDevice"};
    }
  }
  clique->prepare();
  for (std::size_t rank = 0; rank < parts.size(); ++rank)
    parts[rank]->answer->place = member_of(*clique, static_cast<int>(rank));
  return std::nullopt;
}

Check conclude_split(const Parts& parts) {
  std::map<int, Parts> colors;
  for (const auto& part : parts) {
    if (part->request.color >= 0) colors[part->request.color].push_back(part);
  }
  for (auto& [color, members] : colors) {
    std::stable_sort(members.begin(), members.end(),
                     [](const auto& a, const auto& b) { return a->request.key < b->request.key; });
    const auto clique = Cliques::get().make(static_cast<int>(members.size()));
    for (std::size_t rank = 0; rank < members.size(); ++rank)
      clique->devices[rank] = members[rank]->request.device;
    clique->prepare();
    for (std::size_t rank = 0; rank < members.size(); ++rank)
      members[rank]->answer->place = member_of(*clique, static_cast<int>(rank));
  }
  return std::nullopt;
}

Check register_windows(const std::shared_ptr<Clique>& clique, const Parts& parts) {
  std::vector<WindowRequest> requests;
  for (const auto& part : parts)
    requests.push_back(part->request.window);
  const Windows::Registered registered = Windows::get().add(clique, requests);
  if (registered.problem) return registered.problem;
  clique->has_windows = true;
  for (std::size_t rank = 0; rank < parts.size(); ++rank)
    parts[rank]->answer->description = registered.window->descriptions[rank];
  return std::nullopt;
}

Check create_dev_comms(const std::shared_ptr<Clique>& clique, const Parts& parts) {
  std::vector<DevCommRequest> requests;
  for (const auto& part : parts)
    requests.push_back(part->request.dev_comm);
  DevComms::Created created = DevComms::get().create(clique, requests);
  if (created.problem) return created.problem;
  for (std::size_t rank = 0; rank < parts.size(); ++rank)
    parts[rank]->answer->dev_comm = std::move(created.answers[rank]);
  return std::nullopt;
}

Check conclude(SetUpRequest::Call call, const std::shared_ptr<Clique>& clique, const Parts& parts) {
  switch (call) {
    case SetUpRequest::Call::InitRank:
      return conclude_init(clique, parts);
    case SetUpRequest::Call::Split:
      return conclude_split(parts);
    case SetUpRequest::Call::WindowRegister:
      return register_windows(clique, parts);
    case SetUpRequest::Call::DevCommCreate:
      return create_dev_comms(clique, parts);
  }
  return std::nullopt;
}

Problem not_a_communicator() {
  return {Code::InvalidArgument, "no such communicator"};
}

class LocalAssembly final : public Assembly {
 public:
  Joined join(const SetUpRequest& request, const std::shared_ptr<SetUpAnswer>& answer) override {
    const bool is_init = request.call == SetUpRequest::Call::InitRank;
    const std::shared_ptr<Clique> clique = is_init
                                               ? Cliques::get().form(request.number, request.ranks)
                                               : Cliques::get().find(request.number);
    if (clique == nullptr || request.rank < 0 || request.rank >= clique->ranks())
      return {nullptr, not_a_communicator()};
    if (is_init && clique->ranks() != request.ranks) {
      return {nullptr, Problem{Code::InvalidArgument,
                               "ncclCommInitRank: the ranks disagree about how many they are"}};
    }
    const char* name = name_of(request.call);
    auto meeting = clique->next_meeting(request.rank, name);
    auto part = std::make_shared<Part>(Part{request, answer});
    Check problem = meeting->arrive(
        request.rank, name, std::move(part),
        [call = request.call, clique](const std::vector<std::shared_ptr<void>>& brought) {
          Parts parts;
          for (const auto& one : brought)
            parts.push_back(std::static_pointer_cast<Part>(one));
          return conclude(call, clique, parts);
        });
    return {std::move(meeting), std::move(problem), clique->number};
  }

  Check log(const Membership& member, const nccl_core::Call& call) override {
    const auto clique = Cliques::get().find(member.number);
    return clique == nullptr ? not_a_communicator() : clique->log_call(member.rank, call);
  }

  Check why_broken(const Membership& member) override {
    const auto clique = Cliques::get().find(member.number);
    return clique == nullptr ? std::nullopt : clique->why_broken();
  }

  void break_up(const Membership& member, const Problem& why) override {
    if (const auto clique = Cliques::get().find(member.number)) clique->break_up(why);
  }

  // Kernels of others may still use what it shares.
  void leave(const Membership&) override {}

  bool release_window(const Membership& member, Address description) override {
    const auto clique = Cliques::get().find(member.number);
    return clique != nullptr && Windows::get().release(*clique, member.rank, description);
  }

  bool release_dev_comm(const Membership& member, Address resources) override {
    const auto clique = Cliques::get().find(member.number);
    return clique != nullptr && DevComms::get().release(*clique, member.rank, resources);
  }
};

}  // namespace

const char* name_of(SetUpRequest::Call call) {
  switch (call) {
    case SetUpRequest::Call::InitRank:
      return "ncclCommInitRank";
    case SetUpRequest::Call::Split:
      return "ncclCommSplit";
    case SetUpRequest::Call::WindowRegister:
      return "ncclCommWindowRegister";
    case SetUpRequest::Call::DevCommCreate:
      return "ncclDevCommCreate";
  }
  return "";
}

Assembly& local_assembly() {
  static Assembly& assembly = *new LocalAssembly;
  return assembly;
}

}  // namespace cuco::loopback
