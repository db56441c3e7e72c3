// SPDX-License-Identifier: Apache-2.0
#include "loopback/nccl/clique.h"

#include <algorithm>
#include <utility>

#include "loopback/gpu/divided_gpu.h"
#include "loopback/gpu/settings.h"
#include "nccl_core/resource_layout.h"

namespace cuco::loopback {

using nccl_core::Check;
using nccl_core::Problem;

namespace {

Problem gone(const std::string& call, int rank) {
  return {nccl_core::Code::RemoteError,
          call + " waits for rank " + std::to_string(rank) + ", whose process has ended"};
}

}  // namespace

Clique::Clique(std::uint64_t its_number, int ranks)
    : number(its_number),
      devices(static_cast<std::size_t>(ranks)),
      paced(static_cast<std::size_t>(ranks)),
      collective_bytes(static_cast<std::size_t>(ranks)),
      puts(static_cast<std::size_t>(ranks)),
      put_bytes(static_cast<std::size_t>(ranks)),
      next_(static_cast<std::size_t>(ranks)),
      has_left_(static_cast<std::size_t>(ranks)),
      log_(ranks) {}

void Clique::prepare() {
  Machine& machine = Machine::get();
  const auto n = static_cast<std::uint64_t>(ranks());
  view.ranks = ranks();
  view.flags = machine.device_bytes(kMaxBlocks * n * sizeof(std::uint32_t));
  view.epochs = machine.device_bytes(n * kMaxBlocks * sizeof(std::uint32_t));
  view.slots = machine.device_bytes(kMaxBlocks * n * sizeof(CallSlot));
  view.tickets = machine.device_bytes(n * sizeof(std::uint32_t));
  view.numbers = machine.device_bytes(n * sizeof(std::uint64_t));
  view.sequences = machine.device_bytes(n * sizeof(std::uint64_t));
  view.posts = machine.device_bytes(n * n * kPostRing * sizeof(SendPost));
  view.sent = machine.device_bytes(n * n * sizeof(std::uint64_t));
  view.received = machine.device_bytes(n * n * sizeof(std::uint64_t));
  view.acknowledged = machine.device_bytes(n * n * sizeof(std::uint64_t));
  const auto host = [&](std::uint64_t bytes) {
    return reinterpret_cast<Address>(machine.host_bytes(bytes));
  };
  view.events = host(n * kEventRing * sizeof(Event));
  view.consumed = host(n * sizeof(std::uint64_t));
  view.released = host(n * sizeof(std::uint64_t));
  view.finished = host(n * sizeof(std::uint64_t));
  view.abort = host(sizeof(std::uint32_t));
  std::vector<int> domains;
  for (const int device : devices)
    domains.push_back(settings().network ? settings().network->domain_of(device) : 0);
  lsa_size = nccl_core::lsa_team_size(domains);
  is_ready = true;
}

CommView Clique::view_of(int rank) const {
  CommView mine = view;
  mine.rank = rank;
  return mine;
}

std::shared_ptr<Meeting> Clique::next_meeting(int rank, const std::string& call) {
  const std::lock_guard lock(mutex_);
  const std::uint64_t turn = next_[static_cast<std::size_t>(rank)]++;
  std::shared_ptr<Meeting>& meeting = meetings_[turn];
  if (meeting == nullptr) {
    meeting = std::make_shared<Meeting>(call, name(), ranks());
    for (int other = 0; other < ranks(); ++other) {
      if (has_left_[static_cast<std::size_t>(other)]) meeting->break_up(gone(call, other));
    }
  }
  const std::shared_ptr<Meeting> result = meeting;
  const std::uint64_t behind = *std::min_element(next_.begin(), next_.end());
  meetings_.erase(meetings_.begin(), meetings_.lower_bound(behind));
  return result;
}

void Clique::leave(int rank) {
  const std::lock_guard lock(mutex_);
  has_left_[static_cast<std::size_t>(rank)] = true;
  for (auto& [turn, meeting] : meetings_) {
    if (!meeting->has(rank)) meeting->break_up(gone(meeting->call(), rank));
  }
}

void Clique::break_up(const Problem& why) {
  const std::lock_guard lock(mutex_);
  if (!broken_) broken_ = why;
  if (view.abort != 0) *reinterpret_cast<volatile std::uint32_t*>(view.abort) = 1;
  for (auto& [turn, meeting] : meetings_)
    meeting->break_up(why);
}

Check Clique::why_broken() {
  const std::lock_guard lock(mutex_);
  return broken_;
}

std::vector<std::string> Clique::waits() {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> lines;
  for (auto& [turn, meeting] : meetings_) {
    if (std::string line = meeting->describe(); !line.empty()) lines.push_back(std::move(line));
  }
  for (const std::string& line : log_.missing())
    lines.push_back(name() + ": " + line);
  return lines;
}

Check Clique::log_call(int rank, const nccl_core::Call& call) {
  const std::lock_guard lock(mutex_);
  if (broken_) return broken_;
  Check wrong = log_.add(rank, call);
  if (wrong) broken_ = wrong;
  return wrong;
}

Cliques& Cliques::get() {
  static Cliques& cliques = *new Cliques;
  return cliques;
}

std::shared_ptr<Clique> Cliques::form(std::uint64_t id, int ranks) {
  const std::lock_guard lock(mutex_);
  std::shared_ptr<Clique>& clique = forming_[id];
  if (clique == nullptr) {
    clique = std::make_shared<Clique>(++last_, ranks);
    all_.push_back(clique);
    ++version_;
  }
  return clique;
}

std::shared_ptr<Clique> Cliques::make(int ranks) {
  const std::lock_guard lock(mutex_);
  all_.push_back(std::make_shared<Clique>(++last_, ranks));
  ++version_;
  return all_.back();
}

std::shared_ptr<Clique> Cliques::find(std::uint64_t number) {
  const std::lock_guard lock(mutex_);
  const auto found = std::find_if(all_.begin(), all_.end(),
                                  [&](const auto& clique) { return clique->number == number; });
  return found == all_.end() ? nullptr : *found;
}

std::vector<std::shared_ptr<Clique>> Cliques::all() {
  const std::lock_guard lock(mutex_);
  return all_;
}

}  // namespace cuco::loopback
