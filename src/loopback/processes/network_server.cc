// SPDX-License-Identifier: Apache-2.0
#include "loopback/processes/network_server.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <set>
#include <thread>
#include <utility>

#include "loopback/gpu/divided_gpu.h"
#include "loopback/gpu/rank_memory.h"
#include "loopback/gpu/settings.h"
#include "loopback/nccl/clique.h"

namespace cuco::loopback {

using nccl_core::Check;
using nccl_core::Problem;

namespace {

/// A process that does not answer for so long is as good as dead: its driver is stuck, or it is.
constexpr int kPatience = 20;

Writer news(Tell tell) {
  Writer out;
  out.put(tell);
  return out;
}

}  // namespace

struct NetworkServer::Caller {
  int process = 0;
  struct Pending {
    std::shared_ptr<Agreement> agreement;
    std::shared_ptr<SetUpAnswer> answer;
  };
  std::map<std::uint64_t, Pending> pending;
  std::set<std::pair<std::uint64_t, int>> places;  ///< Communicators, and its ranks in them.
};

NetworkServer& NetworkServer::get() {
  static NetworkServer& server = *new NetworkServer;
  return server;
}

void NetworkServer::run() {
  // First the socket: who comes early waits for an answer, not for a file.
  const int socket = Channel::listen(settings().socket());
  if (socket < 0) give_up(settings().socket() + ": " + std::strerror(errno));
  Pages::get().share_with(*this);
  before_giving_up([this](const std::string&, int status) { end(status); });
  (void)Machine::get();
  watch_elsewhere(*this);
  start_watchdog();
  pollfd watched[] = {{socket, POLLIN, 0}, {STDIN_FILENO, POLLIN, 0}};
  for (;;) {
    if (::poll(watched, 2, -1) < 0 && errno != EINTR) break;
    char byte = 0;
    if (watched[1].revents != 0 && ::read(STDIN_FILENO, &byte, 1) <= 0) break;
    if ((watched[0].revents & POLLIN) == 0) continue;
    const int accepted = ::accept4(socket, nullptr, nullptr, SOCK_CLOEXEC);
    if (accepted >= 0) std::thread([this, accepted] { greet(Channel(accepted)); }).detach();
  }
}

void NetworkServer::greet(Channel channel) {
  const auto hello = channel.receive();
  if (!hello) return;
  Reader in(hello->bytes);
  const auto which = in.get<Socket>();
  const int process = in.get<int>();
  const auto pid = in.get<pid_t>();
  if (which == Socket::Told) {
    attach(process, std::move(channel));
  } else {
    must(driver().cuCtxSetCurrent(Machine::get().network().context), "the network's context");
    serve(process, pid, std::move(channel));
  }
}

// All that there is goes to the newcomer before anything else is made.
void NetworkServer::attach(int process, Channel channel) {
  auto listener = std::make_unique<Listener>();
  listener->process = process;
  listener->channel = std::move(channel);
  listener->channel.set_patience(kPatience);
  const std::lock_guard lock(mutex_);
  for (const auto& [at, mapping] : mappings_)
    tell_map(*listener, at, mapping);
  for (const auto& [at, mapping] : host_mappings_)
    tell(*listener, news(Tell::MapHost).put(at).put(mapping.bytes), mapping.descriptor);
  const std::lock_guard adding(adding_);
  listeners_.push_back(std::move(listener));
  attached_.notify_all();
}

std::string NetworkServer::tell(Listener& listener, const Writer& what, int descriptor) {
  if (listener.is_gone || listener.has_left) return {};
  if (listener.channel.send(what.bytes(), descriptor)) {
    if (auto answer = listener.channel.receive()) return std::move(answer->bytes);
  }
  listener.is_gone = true;
  return {};
}

void NetworkServer::tell_map(Listener& listener, CUdeviceptr at, const Mapping& mapping) {
  int descriptor = -1;
  must(driver().cuMemExportToShareableHandle(&descriptor, mapping.handle,
                                             CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0),
       "memory for other processes");
  tell(listener, news(Tell::Map).put(at).put(mapping.bytes).put(mapping.handle), descriptor);
  ::close(descriptor);
}

void NetworkServer::mapped(CUdeviceptr at,
                           std::uint64_t bytes,
                           CUmemGenericAllocationHandle handle) {
  const std::lock_guard lock(mutex_);
  const Mapping& mapping = mappings_[at] = {bytes, handle};
  for (const auto& listener : listeners_)
    tell_map(*listener, at, mapping);
}

void NetworkServer::unmapped(CUdeviceptr at, std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  mappings_.erase(at);
  for (const auto& listener : listeners_)
    tell(*listener, news(Tell::Unmap).put(at).put(bytes));
}

void NetworkServer::destroyed(CUmemGenericAllocationHandle handle) {
  const std::lock_guard lock(mutex_);
  for (const auto& listener : listeners_)
    tell(*listener, news(Tell::Destroy).put(handle));
}

void NetworkServer::host_mapped(void* at, std::uint64_t bytes, int descriptor) {
  const std::lock_guard lock(mutex_);
  host_mappings_[at] = {bytes, descriptor};
  for (const auto& listener : listeners_)
    tell(*listener, news(Tell::MapHost).put(at).put(bytes), descriptor);
}

std::uint64_t NetworkServer::progress() {
  const std::lock_guard lock(mutex_);
  std::uint64_t sum = 0;
  for (const auto& listener : listeners_) {
    const std::string answer = tell(*listener, news(Tell::Progress));
    if (!listener->is_gone) listener->progress = Reader(answer).get<std::uint64_t>();
    sum += listener->progress;
  }
  return sum;
}

std::vector<std::string> NetworkServer::waits() {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> lines;
  for (const auto& listener : listeners_) {
    if (listener->has_left) continue;
    const std::string answer = tell(*listener, news(Tell::Waits));
    std::vector<std::string> theirs;
    if (!listener->is_gone) {
      Reader(answer).get(&theirs);
    } else {
      theirs = {"process " + std::to_string(listener->process) + " does not answer"};
    }
    lines.insert(lines.end(), theirs.begin(), theirs.end());
  }
  return lines;
}

// Nobody's answer is waited for, nor whoever holds the mutex: it may be the one that ends all.
void NetworkServer::end(int status) {
  is_ending_ = true;
  const std::lock_guard adding(adding_);
  for (const auto& listener : listeners_)
    (void)listener->channel.send(news(Tell::End).put(status).bytes());
}

void NetworkServer::serve(int process, pid_t pid, Channel channel) {
  Caller caller{.process = process};
  for (;;) {
    const auto message = channel.receive();
    if (!message) return lose(caller, pid);
    Reader in(message->bytes);
    const auto ask = Reader(message->bytes).get<Ask>();
    if (ask == Ask::GiveUp) {
      (void)in.get<Ask>();
      // It has said why itself.
      end(in.get<int>());
      return;
    }
    if (ask == Ask::Bye && !caller.places.empty()) one_left_early_ = true;
    (void)channel.send(answer(caller, in));
    if (ask == Ask::Bye) return leave(caller);
  }
}

// Without a communicator it owes nobody anything. After one that left early it is mpirun that ends
// the others.
void NetworkServer::lose(const Caller& caller, pid_t pid) {
  if (is_ending_) return;
  if (caller.places.empty()) return leave(caller);
  if (one_left_early_) return end(kBroken);
  give_up("the process of rank " + std::to_string(caller.process) + " (" + std::to_string(pid) +
              ") has died; the others end, too",
          kBroken);
}

// Who waits for it in a set-up call waits no longer; kernels may still read its memory.
void NetworkServer::leave(const Caller& caller) {
  for (const auto& [number, rank] : caller.places) {
    if (const auto clique = Cliques::get().find(number)) clique->leave(rank);
  }
  const std::lock_guard lock(mutex_);
  for (const auto& listener : listeners_) {
    if (listener->process == caller.process) listener->has_left = true;
  }
}

std::string NetworkServer::join(Caller& caller, Reader& in) {
  const auto number = in.get<std::uint64_t>();
  SetUpRequest request;
  loopback::get(in, &request);
  auto answer = std::make_shared<SetUpAnswer>();
  const Assembly::Joined joined = local_assembly().join(request, answer);
  note_progress();
  if (joined.number != 0) caller.places.emplace(joined.number, request.rank);
  if (joined.agreement != nullptr) caller.pending[number] = {joined.agreement, answer};
  Writer out;
  out.put(joined.problem).put(joined.number).put(joined.agreement != nullptr);
  return out.bytes();
}

std::string NetworkServer::look(Caller& caller, Reader& in) {
  const auto found = caller.pending.find(in.get<std::uint64_t>());
  const bool is_over = found != caller.pending.end() && found->second.agreement->is_over();
  Writer out;
  out.put(is_over);
  if (!is_over) return out.bytes();
  const Check outcome = found->second.agreement->wait();
  out.put(outcome);
  if (!outcome) {
    put(out, *found->second.answer);
    if (const Membership& place = found->second.answer->place; place.number != 0)
      caller.places.emplace(place.number, place.rank);
  }
  caller.pending.erase(found);
  return out.bytes();
}

void NetworkServer::await(const Caller& caller) {
  const auto is_it = [&](const auto& listener) { return listener->process == caller.process; };
  std::unique_lock lock(mutex_);
  attached_.wait(lock, [&] { return std::ranges::any_of(listeners_, is_it); });
}

std::string NetworkServer::answer(Caller& caller, Reader& in) {
  Writer out;
  switch (const Ask ask = in.get<Ask>()) {
    case Ask::Ready:
      await(caller);
      out.put(true);
      break;
    case Ask::Join:
      return join(caller, in);
    case Ask::IsOver:
      return look(caller, in);
    case Ask::Allocate: {
      const auto bytes = in.get<std::uint64_t>();
      const int rank = in.get<int>();
      Allocation made;
      out.put(Memory::get().allocate_pages(&made, rank, bytes, in.get<bool>())).put(made);
      break;
    }
    case Ask::Free:
      out.put(Memory::get().free(in.get<CUdeviceptr>()));
      break;
    case Ask::Bye:
    case Ask::GiveUp:
      out.put(true);
      break;
    default:
      return answer_member(caller, ask, in);
  }
  return out.bytes();
}

// What starts with a communicator, and a rank in it.
std::string NetworkServer::answer_member(Caller& caller, Ask ask, Reader& in) {
  Writer out;
  Membership member;
  in.get(&member.number).get(&member.rank);
  Assembly& assembly = local_assembly();
  switch (ask) {
    case Ask::Log:
      out.put(assembly.log(member, in.get<nccl_core::Call>()));
      break;
    case Ask::WhyBroken:
      out.put(assembly.why_broken(member));
      break;
    case Ask::BreakUp: {
      const auto why = in.get<Check>();
      assembly.break_up(member, why.value_or(Problem{}));
      out.put(true);
      break;
    }
    case Ask::Leave:
      caller.places.erase({member.number, member.rank});
      out.put(true);
      break;
    case Ask::ReleaseWindow:
      out.put(assembly.release_window(member, in.get<Address>()));
      break;
    case Ask::ReleaseDevComm:
      out.put(assembly.release_dev_comm(member, in.get<Address>()));
      break;
    default:
      break;
  }
  return out.bytes();
}

}  // namespace cuco::loopback

extern "C" __attribute__((visibility("default"))) void cuco_loopback_network() {
  cuco::loopback::become_network();
  cuco::loopback::NetworkServer::get().run();
}
