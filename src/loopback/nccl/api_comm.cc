// SPDX-License-Identifier: Apache-2.0
// Communicators: making, splitting, asking and ending them.
#include <climits>
#include <cstring>
#include <memory>
#include <random>
#include <utility>

#include "loopback/gpu/divided_gpu.h"
#include "loopback/nccl/pending_calls.h"
#include "loopback/nccl/watchdog.h"
#include "nccl_core/abi_2_28.h"

namespace cuco::loopback {
namespace {

using nccl_core::Check;
using nccl_core::Problem;

/// ncclUniqueId: 128 bytes passed by value.
struct UniqueId {
  char internal[128];
};
constexpr std::uint64_t kMagic = 0x4B41424F4F4C4355;  // "UCLOOBAK"

/// The head of ncclConfig_t, the same in all versions.
struct Config {
  std::size_t size;
  unsigned magic;
  unsigned version;
  int blocking;
};

int result(Code code) {
  return static_cast<int>(code);
}

Code check_config(const char* function, const Config* config) {
  if (config == nullptr) return Code::Success;
  if (config->magic != nccl_core::abi_2_28::kConfigMagic) {
    return fail(nullptr,
                {Code::InvalidArgument,
                 std::string(function) + ": initialise ncclConfig_t with NCCL_CONFIG_INITIALIZER"});
  }
  if (config->blocking != INT_MIN && config->blocking != 0 && config->blocking != 1) {
    return fail(nullptr, {Code::InvalidArgument, std::string(function) +
                                                     ": config.blocking must be 0 or 1: " +
                                                     std::to_string(config->blocking)});
  }
  return Code::Success;
}

bool is_blocking(const Config* config, const ncclComm* parent) {
  if (config != nullptr && config->blocking != INT_MIN) return config->blocking != 0;
  return parent == nullptr || parent->is_blocking;
}

/// What happens when a new communicator is there, or is not: blocking programs get NULL then.
auto adopt(ncclComm** out, ncclComm* comm, const std::shared_ptr<SetUpAnswer>& answer) {
  return [out, comm, answer](const Check& problem) {
    if (!problem) {
      comm->place = answer->place;
      comm->rank = comm->place.rank;
      comm->ranks = comm->place.ranks;
    } else if (comm->is_blocking) {
      *out = nullptr;
      delete comm;  // NOLINT(cppcoreguidelines-owning-memory): the program owns it from here on.
    }
  };
}

struct Origin {
  int ranks;
  int rank;
  int device;
  bool is_blocking;
};

Code init_rank(ncclComm** out, const UniqueId& id, const Origin& origin) {
  const auto [ranks, rank, device, blocking] = origin;
  if (out == nullptr || ranks < 1 || rank < 0 || rank >= ranks) {
    return fail(nullptr,
                {Code::InvalidArgument, "ncclCommInitRank: rank must be in [0, " +
                                            std::to_string(ranks) + "): " + std::to_string(rank)});
  }
  std::uint64_t words[2];
  std::memcpy(words, id.internal, sizeof words);
  if (words[0] != kMagic) {
    return fail(nullptr, {Code::InvalidArgument,
                          "ncclCommInitRank: commId was not made by ncclGetUniqueId of this "
                          "library; broadcast all 128 bytes of it"});
  }
  if (ranks > Machine::get().ranks()) {
    return fail(nullptr,
                {Code::InvalidUsage,
                 "ncclCommInitRank: " + std::to_string(ranks) + " ranks, but loopback has " +
                     std::to_string(Machine::get().ranks()) + "; start it with --ranks"});
  }
  start_watchdog();
  auto* comm = new ncclComm;  // NOLINT(cppcoreguidelines-owning-memory): freed by ncclCommDestroy.
  comm->rank = rank;
  comm->ranks = ranks;
  comm->device = device;
  comm->is_blocking = blocking;
  *out = comm;
  SetUpRequest request;
  request.call = SetUpRequest::Call::InitRank;
  request.number = words[1];
  request.rank = rank;
  request.ranks = ranks;
  request.device = device;
  auto answer = std::make_shared<SetUpAnswer>();
  return submit(SetUp{comm,
                      [comm, request, answer](Check* problem) {
                        Assembly::Joined joined = Assembly::get().join(request, answer);
                        comm->place.number = joined.number;
                        *problem = std::move(joined.problem);
                        return joined.agreement;
                      },
                      adopt(out, comm, answer)});
}

/// Of ncclCommSplit; ncclCommShrink is the same without the excluded.
Code split(ncclComm* comm, int color, int key, ncclComm** out, const Config* config) {
  if (const Check broken = Assembly::get().why_broken(comm->place)) return fail(comm, *broken);
  SetUpRequest request;
  request.call = SetUpRequest::Call::Split;
  request.number = comm->place.number;
  request.rank = comm->rank;
  request.device = comm->device;
  request.color = color;
  request.key = key;
  *out = nullptr;
  ncclComm* child = nullptr;
  if (color >= 0) {
    child = new ncclComm;  // NOLINT(cppcoreguidelines-owning-memory)
    child->device = comm->device;
    child->is_blocking = is_blocking(config, comm);
    *out = child;
  }
  auto answer = std::make_shared<SetUpAnswer>();
  return submit(SetUp{child != nullptr ? child : comm,
                      [request, answer](Check* problem) {
                        Assembly::Joined joined = Assembly::get().join(request, answer);
                        *problem = std::move(joined.problem);
                        return joined.agreement;
                      },
                      [out, child, answer](const Check& problem) {
                        if (child != nullptr) adopt(out, child, answer)(problem);
                      }});
}

Code end(const char* function, ncclComm* comm, bool aborts, bool forgets) {
  if (comm == nullptr) {
    // Destroying nothing is allowed; finalising nothing is not.
    return forgets
               ? Code::Success
               : fail(nullptr, {Code::InvalidArgument, std::string(function) + ": comm is NULL"});
  }
  if (aborts && comm->place.number != 0) {
    Assembly::get().break_up(
        comm->place, {Code::RemoteError,
                      comm->place.name() + " was aborted by rank " + std::to_string(comm->rank)});
  }
  if (forgets && comm->place.number != 0) Assembly::get().leave(comm->place);
  // NOLINTNEXTLINE(cppcoreguidelines-owning-memory): the program gives it back.
  if (forgets) delete comm;
  return Code::Success;
}

Code ask(const char* function, const ncclComm* comm, int* out, int value) {
  if (comm == nullptr || out == nullptr)
    return fail(nullptr, {Code::InvalidArgument, std::string(function) + ": NULL argument"});
  *out = value;
  return Code::Success;
}

}  // namespace
}  // namespace cuco::loopback

using cuco::loopback::Config;
using cuco::loopback::Machine;
using cuco::loopback::result;
using cuco::loopback::UniqueId;
using cuco::nccl_core::Code;

CUCO_NCCL_EXPORT(int, ncclGetVersion, (int* version)) {
  if (version == nullptr) return result(Code::InvalidArgument);
  *version = cuco::nccl_core::abi_2_28::kVersion;
  return 0;
}

CUCO_NCCL_EXPORT(int, ncclGetUniqueId, (UniqueId * id)) {
  if (id == nullptr) return result(Code::InvalidArgument);
  std::random_device random;
  const std::uint64_t words[2] = {cuco::loopback::kMagic,
                                  (std::uint64_t{random()} << 32U) | random()};
  std::memset(id, 0, sizeof *id);
  std::memcpy(id->internal, words, sizeof words);
  return 0;
}

CUCO_NCCL_EXPORT(int, ncclCommInitRank, (ncclComm * *comm, int ranks, UniqueId id, int rank)) {
  return result(
      cuco::loopback::init_rank(comm, id, {ranks, rank, Machine::get().current_rank(), true}));
}

CUCO_NCCL_EXPORT(int,
                 ncclCommInitRankConfig,
                 (ncclComm * *comm, int ranks, UniqueId id, int rank, Config* config)) {
  const Code wrong = cuco::loopback::check_config("ncclCommInitRankConfig", config);
  if (wrong != Code::Success) return result(wrong);
  return result(cuco::loopback::init_rank(
      comm, id,
      {ranks, rank, Machine::get().current_rank(), cuco::loopback::is_blocking(config, nullptr)}));
}

CUCO_NCCL_EXPORT(int,
                 ncclCommInitRankScalable,
                 (ncclComm * *comm, int ranks, int rank, int ids, UniqueId* id, Config* config)) {
  const Code wrong = cuco::loopback::check_config("ncclCommInitRankScalable", config);
  if (wrong != Code::Success) return result(wrong);
  if (id == nullptr || ids < 1 || ids > ranks) {
    return result(cuco::loopback::fail(
        nullptr, {Code::InvalidArgument, "ncclCommInitRankScalable: nId must be in [1, nranks]"}));
  }
  return result(cuco::loopback::init_rank(
      comm, id[0],
      {ranks, rank, Machine::get().current_rank(), cuco::loopback::is_blocking(config, nullptr)}));
}

CUCO_NCCL_EXPORT(int, ncclCommInitAll, (ncclComm * *comms, int count, const int* devices)) {
  const int visible = Machine::get().ranks();
  if (comms == nullptr || count < 1) {
    return result(cuco::loopback::fail(
        nullptr, {Code::InvalidArgument,
                  "ncclCommInitAll: invalid device count requested: " + std::to_string(count)}));
  }
  for (int i = 0; i < count; ++i) {
    const int device = devices == nullptr ? i : devices[i];
    if (device < 0 || device >= visible) {
      return result(cuco::loopback::fail(
          nullptr,
          {Code::UnhandledCudaError, "ncclCommInitAll: invalid device " + std::to_string(device) +
                                         ": the program sees " + std::to_string(visible)}));
    }
  }
  UniqueId id;
  if (const int wrong = pncclGetUniqueId(&id); wrong != 0) return wrong;
  (void)cuco::loopback::group_start();
  for (int i = 0; i < count; ++i) {
    (void)cuco::loopback::init_rank(&comms[i], id,
                                    {count, i, devices == nullptr ? i : devices[i], true});
  }
  return result(cuco::loopback::group_end());
}

CUCO_NCCL_EXPORT(int,
                 ncclCommSplit,
                 (ncclComm * comm, int color, int key, ncclComm** out, Config* config)) {
  if (comm == nullptr || out == nullptr) return result(Code::InvalidArgument);
  const Code wrong = cuco::loopback::check_config("ncclCommSplit", config);
  if (wrong != Code::Success) return result(wrong);
  if (color < -1) {
    return result(cuco::loopback::fail(
        comm, {Code::InvalidArgument,
               "ncclCommSplit: color must be NCCL_SPLIT_NOCOLOR or not negative: " +
                   std::to_string(color)}));
  }
  return result(cuco::loopback::split(comm, color, key, out, config));
}

CUCO_NCCL_EXPORT(int, ncclCommFinalize, (ncclComm * comm)) {
  return result(cuco::loopback::end("ncclCommFinalize", comm, false, false));
}

CUCO_NCCL_EXPORT(int, ncclCommDestroy, (ncclComm * comm)) {
  return result(cuco::loopback::end("ncclCommDestroy", comm, false, true));
}

CUCO_NCCL_EXPORT(int, ncclCommAbort, (ncclComm * comm)) {
  return result(cuco::loopback::end("ncclCommAbort", comm, true, true));
}

CUCO_NCCL_EXPORT(int, ncclCommRevoke, (ncclComm * comm, int flags)) {
  if (flags != 0) {
    return result(cuco::loopback::fail(
        comm, {Code::InvalidArgument, "ncclCommRevoke: revokeFlags must be 0"}));
  }
  return result(cuco::loopback::end("ncclCommRevoke", comm, true, false));
}

CUCO_NCCL_EXPORT(int, ncclCommShrink, (ncclComm * comm, int*, int, ncclComm**, Config*, int)) {
  return result(cuco::loopback::fail(
      comm, {Code::InvalidUsage,
             "ncclCommShrink is not supported in loopback; use ncclCommSplit, or --on virtual"}));
}

CUCO_NCCL_EXPORT(int, ncclCommCount, (const ncclComm* comm, int* count)) {
  return result(
      cuco::loopback::ask("ncclCommCount", comm, count, comm == nullptr ? 0 : comm->ranks));
}

CUCO_NCCL_EXPORT(int, ncclCommCuDevice, (const ncclComm* comm, int* device)) {
  return result(
      cuco::loopback::ask("ncclCommCuDevice", comm, device, comm == nullptr ? 0 : comm->device));
}

CUCO_NCCL_EXPORT(int, ncclCommUserRank, (const ncclComm* comm, int* rank)) {
  return result(
      cuco::loopback::ask("ncclCommUserRank", comm, rank, comm == nullptr ? 0 : comm->rank));
}

CUCO_NCCL_EXPORT(int, ncclCommGetAsyncError, (ncclComm * comm, int* error)) {
  if (comm == nullptr || error == nullptr) return result(Code::InvalidArgument);
  *error = result(cuco::loopback::poll(*comm));
  return 0;
}

CUCO_NCCL_EXPORT(const char*, ncclGetErrorString, (int code)) {
  return cuco::nccl_core::error_string(static_cast<Code>(code));
}

CUCO_NCCL_EXPORT(const char*, ncclGetLastError, (ncclComm * comm)) {
  return cuco::loopback::last_error(comm);
}

CUCO_NCCL_EXPORT(void, ncclResetDebugInit, ()) {}

extern "C" __attribute__((visibility("default"))) void ncclResetDebugInitInternal() {}
