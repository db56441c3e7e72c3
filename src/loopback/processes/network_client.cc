// SPDX-License-Identifier: Apache-2.0
#include "loopback/processes/network_client.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "loopback/gpu/divided_gpu.h"
#include "loopback/gpu/pages.h"
#include "loopback/gpu/settings.h"
#include "loopback/nccl/watchdog.h"

namespace cuco::loopback {

using nccl_core::Check;
using nccl_core::Code;
using nccl_core::Problem;

namespace {

// The network's process may be at its own start.
constexpr std::chrono::seconds kStart{60};
constexpr std::chrono::milliseconds kRetry{5};
constexpr int kMostRefused = 200;
constexpr std::chrono::microseconds kLook{20}, kLongestLook{1000};

Writer question(Ask ask) {
  Writer out;
  out.put(ask);
  return out;
}

Channel connect() {
  const auto end = std::chrono::steady_clock::now() + kStart;
  // A socket at which nobody listens is left of a process that has ended.
  for (int refused = 0; std::chrono::steady_clock::now() < end && refused < kMostRefused;) {
    if (auto channel = Channel::connect(settings().socket())) return *std::move(channel);
    if (errno == ECONNREFUSED) ++refused;
    std::this_thread::sleep_for(kRetry);
  }
  give_up("the network's process does not answer at " + settings().socket());
}

/// A decision that is taken in the network's process.
class RemoteAgreement final : public Agreement {
 public:
  RemoteAgreement(NetworkClient& network, std::uint64_t number, std::shared_ptr<SetUpAnswer> answer)
      : network_(network), number_(number), answer_(std::move(answer)) {}

  bool is_over() override {
    if (is_over_) return true;
    const std::string bytes = network_.ask(question(Ask::IsOver).put(number_));
    Reader in(bytes);
    in.get(&is_over_);
    if (!is_over_) return false;
    in.get(&outcome_);
    if (!outcome_) loopback::get(in, answer_.get());
    return true;
  }

  Check wait() override {
    for (auto pause = kLook; !is_over(); pause = std::min(2 * pause, kLongestLook))
      std::this_thread::sleep_for(pause);
    return outcome_;
  }

 private:
  NetworkClient& network_;
  std::uint64_t number_;
  std::shared_ptr<SetUpAnswer> answer_;
  bool is_over_ = false;
  Check outcome_;
};

// A forked child inherits the sockets, but is not the process that the network knows.
pid_t known_process = 0;

}  // namespace

NetworkClient& NetworkClient::get() {
  static NetworkClient& client = *new NetworkClient;
  return client;
}

NetworkClient::NetworkClient() {
  (void)Machine::get();
  calls_ = connect();
  say_hello(calls_, Socket::Calls);
  told_ = connect();
  say_hello(told_, Socket::Told);
  known_process = ::getpid();
  std::thread([this, context = Machine::get().primary()] {
    must(driver().cuCtxSetCurrent(context), "the GPU's context");
    allow_calls_while_others_capture();
    listen();
  }).detach();
  (void)ask(question(Ask::Ready));
  before_giving_up([this](const std::string& why, int status) {
    if (::getpid() == known_process)
      (void)calls_.send(question(Ask::GiveUp).put(status).put(why).bytes());
  });
  std::atexit([] {
    if (::getpid() == known_process) (void)get().ask(question(Ask::Bye));
  });
}

void NetworkClient::say_hello(Channel& channel, Socket which) {
  Writer hello;
  hello.put(which).put(settings().process).put(::getpid());
  (void)channel.send(hello.bytes());
}

std::string NetworkClient::ask(const Writer& question) {
  const std::lock_guard lock(mutex_);
  if (calls_.send(question.bytes())) {
    if (auto answer = calls_.receive()) return std::move(answer->bytes);
  }
  // It is ending, and so are we: the other thread is told why.
  std::this_thread::sleep_for(std::chrono::seconds(2));
  give_up("the network's process has ended", kBroken);
}

void NetworkClient::listen() {
  for (;;) {
    const auto message = told_.receive();
    if (!message) give_up("the network's process has ended", kBroken);
    const std::string answer = hear(*message);
    if (message->descriptor >= 0) ::close(message->descriptor);
    (void)told_.send(answer);
  }
}

std::string NetworkClient::hear(const Channel::Message& message) {
  Reader in(message.bytes);
  Writer answer;
  switch (in.get<Tell>()) {
    case Tell::Map:
      map(in, message.descriptor);
      break;
    case Tell::Unmap: {
      const auto at = in.get<CUdeviceptr>();
      (void)driver().cuMemUnmap(at, in.get<std::uint64_t>());
      break;
    }
    case Tell::Destroy:
      if (const auto found = handles_.find(in.get<CUmemGenericAllocationHandle>());
          found != handles_.end()) {
        (void)driver().cuMemRelease(found->second);
        handles_.erase(found);
      }
      break;
    case Tell::MapHost: {
      void* at = in.get<void*>();
      must(Pages::map_host_here(at, in.get<std::uint64_t>(), message.descriptor),
           "host memory that processes share");
      break;
    }
    case Tell::Progress:
      answer.put(own_progress());
      break;
    case Tell::Waits: {
      const std::vector<std::string> lines = own_waits();
      answer.put(lines);
      break;
    }
    case Tell::End:
      // The network's process has said why.
      std::fflush(stdout);
      std::_Exit(in.get<int>());
  }
  return answer.bytes().empty() ? std::string(1, '.') : answer.bytes();
}

void NetworkClient::map(Reader& in, int descriptor) {
  const auto at = in.get<CUdeviceptr>();
  const auto bytes = in.get<std::uint64_t>();
  const auto theirs = in.get<CUmemGenericAllocationHandle>();
  auto [found, is_new] = handles_.try_emplace(theirs);
  if (is_new) {
    // NOLINTNEXTLINE(performance-no-int-to-ptr): CUDA passes the descriptor so.
    void* shareable = reinterpret_cast<void*>(static_cast<std::intptr_t>(descriptor));
    must(driver().cuMemImportFromShareableHandle(&found->second, shareable,
                                                 CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR),
         "memory of another process");
  }
  must(Pages::map_here(at, bytes, found->second), "memory of another process");
}

Assembly::Joined NetworkClient::join(const SetUpRequest& request,
                                     const std::shared_ptr<SetUpAnswer>& answer) {
  const std::uint64_t number = next_number();
  Writer out = question(Ask::Join);
  out.put(number);
  put(out, request);
  const std::string bytes = ask(out);
  Reader in(bytes);
  Joined joined;
  in.get(&joined.problem).get(&joined.number);
  if (in.get<bool>()) joined.agreement = std::make_shared<RemoteAgreement>(*this, number, answer);
  return joined;
}

Check NetworkClient::log(const Membership& member, const nccl_core::Call& call) {
  const std::string bytes = ask(question(Ask::Log).put(member.number).put(member.rank).put(call));
  Check problem;
  Reader(bytes).get(&problem);
  return problem;
}

// The network raises the flag when a communicator is broken up: no need to ask each time.
Check NetworkClient::why_broken(const Membership& member) {
  if (member.view.abort != 0 &&
      *reinterpret_cast<const volatile std::uint32_t*>(member.view.abort) == 0) {
    return std::nullopt;
  }
  const std::string bytes = ask(question(Ask::WhyBroken).put(member.number).put(member.rank));
  Check problem;
  Reader(bytes).get(&problem);
  return problem;
}

void NetworkClient::break_up(const Membership& member, const Problem& why) {
  (void)ask(question(Ask::BreakUp).put(member.number).put(member.rank).put(Check(why)));
}

void NetworkClient::leave(const Membership& member) {
  (void)ask(question(Ask::Leave).put(member.number).put(member.rank));
}

bool NetworkClient::release_window(const Membership& member, Address description) {
  const std::string bytes =
      ask(question(Ask::ReleaseWindow).put(member.number).put(member.rank).put(description));
  return Reader(bytes).get<bool>();
}

bool NetworkClient::release_dev_comm(const Membership& member, Address resources) {
  const std::string bytes =
      ask(question(Ask::ReleaseDevComm).put(member.number).put(member.rank).put(resources));
  return Reader(bytes).get<bool>();
}

CUresult NetworkClient::make(Allocation* out, std::uint64_t bytes, int rank, bool can_be_window) {
  const std::string answer = ask(question(Ask::Allocate).put(bytes).put(rank).put(can_be_window));
  Reader in(answer);
  const auto result = in.get<CUresult>();
  in.get(out);
  return result;
}

void NetworkClient::free(CUdeviceptr base) {
  (void)ask(question(Ask::Free).put(base));
}

Assembly& Assembly::get() {
  if (settings().role == Role::Rank) return NetworkClient::get();
  return local_assembly();
}

MemorySource* memory_source() {
  return settings().role == Role::Rank ? &NetworkClient::get() : nullptr;
}

}  // namespace cuco::loopback
