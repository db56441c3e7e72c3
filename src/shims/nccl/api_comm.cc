// SPDX-License-Identifier: Apache-2.0
// Communicators: making, splitting, asking and ending them.
#include <climits>
#include <cstring>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "nccl_core/abi_2_28.h"
#include "nccl_core/exported_twice.h"
#include "shims/nccl/group.h"

namespace cuco::nccl {
namespace {

/// ncclUniqueId: 128 bytes passed by value.
struct UniqueId {
  char internal[128];
};
constexpr std::uint64_t kUniqueIdMagic = 0x4C43434E4F435543;  // "CUCONCCL"

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

/// Fills in what the server says about a new communicator; on failure the program gets NULL.
auto adopt(ncclComm** out, ncclComm* comm) {
  return [out, comm](Code code, wire::Bytes payload) {
    const auto info = wire::read_front<wire::NcclCommInfo>(payload);
    if (code != Code::Success && !comm->is_blocking) {
      comm->failed = code;  // The program holds it already, and will ask.
      return;
    }
    if (code != Code::Success || !info || info->comm == 0) {
      *out = nullptr;
      delete comm;  // NOLINT(cppcoreguidelines-owning-memory): the program owns it from here on.
      return;
    }
    comm->handle = info->comm;
    comm->rank = info->rank;
    comm->ranks = info->ranks;
    comm->lsa_rank = info->lsa_rank;
    comm->lsa_size = info->lsa_size;
  };
}

/// Not set: as the parent, or blocking.
bool is_blocking(const Config* config, const ncclComm* parent) {
  if (config != nullptr && config->blocking != INT_MIN) return config->blocking != 0;
  return parent == nullptr || parent->is_blocking;
}

/// Where a communicator comes from.
struct Origin {
  int ranks;
  int rank;
  int device;
  bool is_blocking;
};

Code init_rank(ncclComm** out, const UniqueId& id, const Origin& origin) {
  const auto [ranks, rank, device, is_blocking] = origin;
  if (out == nullptr || ranks < 1 || rank < 0 || rank >= ranks) {
    return fail(nullptr,
                {Code::InvalidArgument, "ncclCommInitRank: rank must be in [0, " +
                                            std::to_string(ranks) + "): " + std::to_string(rank)});
  }
  std::uint64_t words[3];
  std::memcpy(words, id.internal, sizeof words);
  if (words[0] != kUniqueIdMagic) {
    return fail(nullptr,
                {Code::InvalidArgument,
                 "ncclCommInitRank: commId was not made by ncclGetUniqueId of this cluster; "
                 "broadcast all 128 bytes of it"});
  }
  const wire::ClientApi* api = client();
  if (api == nullptr) return Code::SystemError;
  auto* comm = new ncclComm;  // NOLINT(cppcoreguidelines-owning-memory): freed by ncclCommDestroy.
  comm->rank = rank;
  comm->ranks = ranks;
  comm->device = device;
  comm->cluster_device = api->cluster_device(device);
  comm->is_blocking = is_blocking;
  *out = comm;
  wire::NcclInit request;
  request.id[0] = words[1];
  request.id[1] = words[2];
  request.rank = rank;
  request.ranks = ranks;
  request.device = comm->cluster_device;
  return enqueue({wire::NcclItemKind::Init, payload_of(request), nullptr, comm, adopt(out, comm)});
}

int current_device() {
  const wire::ClientApi* api = client();
  return api == nullptr ? 0 : api->current_device();
}

Code end(const char* function, wire::NcclItemKind kind, ncclComm* comm, bool forget) {
  if (comm == nullptr) {
    // Destroying nothing is allowed; finalising nothing is not.
    return forget
               ? Code::Success
               : fail(nullptr, {Code::InvalidArgument, std::string(function) + ": comm is NULL"});
  }
  const auto drop = [comm, forget](Code, wire::Bytes) {
    if (forget) delete comm;  // NOLINT(cppcoreguidelines-owning-memory)
  };
  if (kind == wire::NcclItemKind::Abort) {
    abandon(*comm);
  } else if (forget) {
    // Destroying is the one call that always waits.
    while (poll(*comm) == Code::InProgress) {
    }
  }
  if (comm->handle == 0) {  // It was never made.
    drop(Code::Success, {});
    return Code::Success;
  }
  return enqueue({kind, payload_of(wire::NcclComm{comm->handle}), comm, nullptr, drop});
}

/// Copies a new communicator's client half from its parent.
ncclComm* child_of(const ncclComm* parent, const Config* config) {
  auto* comm = new ncclComm;  // NOLINT(cppcoreguidelines-owning-memory)
  comm->device = parent->device;
  comm->cluster_device = parent->cluster_device;
  comm->is_blocking = is_blocking(config, parent);
  return comm;
}

Code ask(const char* function, const ncclComm* comm, int* out, int value) {
  if (comm == nullptr || out == nullptr) {
    return fail(nullptr, {Code::InvalidArgument, std::string(function) + ": NULL argument"});
  }
  *out = value;
  return Code::Success;
}

}  // namespace
}  // namespace cuco::nccl

using cuco::nccl::Config;
using cuco::nccl::result;
using cuco::nccl::UniqueId;
using cuco::nccl_core::Code;
namespace wire = cuco::wire;

CUCO_NCCL_EXPORT(int, ncclGetVersion, (int* version)) {
  if (version == nullptr) return result(Code::InvalidArgument);
  *version = cuco::nccl_core::abi_2_28::kVersion;
  return 0;
}

CUCO_NCCL_EXPORT(int, ncclGetUniqueId, (UniqueId * id)) {
  if (id == nullptr) return result(Code::InvalidArgument);
  const wire::ClientApi* api = cuco::nccl::client();
  if (api == nullptr) return result(Code::SystemError);
  wire::NcclUniqueId::Reply reply;
  if (wire::call(*api, wire::NcclUniqueId{}, &reply) != wire::kSuccess) {
    return result(Code::SystemError);
  }
  const std::uint64_t words[3] = {cuco::nccl::kUniqueIdMagic, reply.words[0], reply.words[1]};
  std::memset(id, 0, sizeof *id);
  std::memcpy(id->internal, words, sizeof words);
  return 0;
}

CUCO_NCCL_EXPORT(int, ncclCommInitRank, (ncclComm * *comm, int ranks, UniqueId id, int rank)) {
  return result(cuco::nccl::init_rank(comm, id, {ranks, rank, cuco::nccl::current_device(), true}));
}

CUCO_NCCL_EXPORT(int,
                 ncclCommInitRankConfig,
                 (ncclComm * *comm, int ranks, UniqueId id, int rank, Config* config)) {
  const Code wrong = cuco::nccl::check_config("ncclCommInitRankConfig", config);
  if (wrong != Code::Success) return result(wrong);
  return result(cuco::nccl::init_rank(
      comm, id,
      {ranks, rank, cuco::nccl::current_device(), cuco::nccl::is_blocking(config, nullptr)}));
}

CUCO_NCCL_EXPORT(int,
                 ncclCommInitRankScalable,
                 (ncclComm * *comm, int ranks, int rank, int ids, UniqueId* id, Config* config)) {
  const Code wrong = cuco::nccl::check_config("ncclCommInitRankScalable", config);
  if (wrong != Code::Success) return result(wrong);
  if (id == nullptr || ids < 1 || ids > ranks) {
    return result(cuco::nccl::fail(
        nullptr, {Code::InvalidArgument, "ncclCommInitRankScalable: nId must be in [1, nranks]"}));
  }
  // The ids only spread the load of the real library's bootstrap; the first names the clique.
  return result(cuco::nccl::init_rank(
      comm, id[0],
      {ranks, rank, cuco::nccl::current_device(), cuco::nccl::is_blocking(config, nullptr)}));
}

CUCO_NCCL_EXPORT(int, ncclCommInitAll, (ncclComm * *comms, int count, const int* devices)) {
  const wire::ClientApi* api = cuco::nccl::client();
  if (api == nullptr) return result(Code::SystemError);
  const wire::Hello::Reply* identity = api->identity();
  const int visible = identity == nullptr ? 0 : static_cast<int>(identity->device_count);
  if (comms == nullptr || count < 1) {
    return result(cuco::nccl::fail(
        nullptr, {Code::InvalidArgument,
                  "ncclCommInitAll: invalid device count requested: " + std::to_string(count)}));
  }
  std::set<int> seen;
  for (int i = 0; i < count; ++i) {
    const int device = devices == nullptr ? i : devices[i];
    if (device < 0 || device >= visible) {
      return result(cuco::nccl::fail(
          nullptr,
          {Code::UnhandledCudaError, "ncclCommInitAll: invalid device " + std::to_string(device) +
                                         ": the program sees " + std::to_string(visible)}));
    }
    if (!seen.insert(device).second) {
      return result(cuco::nccl::fail(
          nullptr, {Code::InvalidUsage, "ncclCommInitAll: device " + std::to_string(device) +
                                            " is listed twice; each rank needs its own"}));
    }
  }
  UniqueId id;
  if (const int wrong = pncclGetUniqueId(&id); wrong != 0) return wrong;
  (void)cuco::nccl::group_start();
  for (int i = 0; i < count; ++i) {
    (void)cuco::nccl::init_rank(&comms[i], id,
                                {count, i, devices == nullptr ? i : devices[i], true});
  }
  return result(cuco::nccl::group_end());
}

CUCO_NCCL_EXPORT(int,
                 ncclCommSplit,
                 (ncclComm * comm, int color, int key, ncclComm** out, Config* config)) {
  if (comm == nullptr || out == nullptr) return result(Code::InvalidArgument);
  const Code wrong = cuco::nccl::check_config("ncclCommSplit", config);
  if (wrong != Code::Success) return result(wrong);
  if (color < -1) {
    return result(cuco::nccl::fail(comm, {Code::InvalidArgument,
                                          "ncclCommSplit: color must be NCCL_SPLIT_NOCOLOR or not "
                                          "negative: " +
                                              std::to_string(color)}));
  }
  auto payload = cuco::nccl::payload_of(wire::NcclSplit{comm->handle, color, key});
  if (color < 0) {  // Takes part and gets nothing.
    *out = nullptr;
    return result(
        cuco::nccl::enqueue({wire::NcclItemKind::Split, std::move(payload), comm, nullptr, {}}));
  }
  ncclComm* child = cuco::nccl::child_of(comm, config);
  *out = child;
  return result(cuco::nccl::enqueue(
      {wire::NcclItemKind::Split, std::move(payload), comm, child, cuco::nccl::adopt(out, child)}));
}

CUCO_NCCL_EXPORT(
    int,
    ncclCommShrink,
    (ncclComm * comm, int* excluded, int count, ncclComm** out, Config* config, int flags)) {
  if (comm == nullptr || out == nullptr || count < 0 || (count > 0 && excluded == nullptr)) {
    return result(Code::InvalidArgument);
  }
  const Code wrong = cuco::nccl::check_config("ncclCommShrink", config);
  if (wrong != Code::Success) return result(wrong);
  for (int i = 0; i < count; ++i) {
    if (excluded[i] == comm->rank) {
      return result(cuco::nccl::fail(
          comm, {Code::InvalidUsage, "ncclCommShrink: an excluded rank must not call it"}));
    }
  }
  ncclComm* child = cuco::nccl::child_of(comm, config);
  *out = child;
  std::vector<std::byte> payload = cuco::nccl::payload_of(wire::NcclShrink{
      comm->handle, static_cast<std::uint32_t>(count), static_cast<std::uint32_t>(flags & 1)});
  for (int i = 0; i < count; ++i)
    wire::append(payload, excluded[i]);
  return result(cuco::nccl::enqueue({wire::NcclItemKind::Shrink, std::move(payload), comm, child,
                                     cuco::nccl::adopt(out, child)}));
}

CUCO_NCCL_EXPORT(int, ncclCommFinalize, (ncclComm * comm)) {
  return result(cuco::nccl::end("ncclCommFinalize", wire::NcclItemKind::Finalize, comm, false));
}

CUCO_NCCL_EXPORT(int, ncclCommDestroy, (ncclComm * comm)) {
  return result(cuco::nccl::end("ncclCommDestroy", wire::NcclItemKind::Destroy, comm, true));
}

CUCO_NCCL_EXPORT(int, ncclCommAbort, (ncclComm * comm)) {
  return result(cuco::nccl::end("ncclCommAbort", wire::NcclItemKind::Abort, comm, true));
}

CUCO_NCCL_EXPORT(int, ncclCommRevoke, (ncclComm * comm, int flags)) {
  if (flags != 0) {
    return result(
        cuco::nccl::fail(comm, {Code::InvalidArgument, "ncclCommRevoke: revokeFlags must be 0"}));
  }
  return result(cuco::nccl::end("ncclCommRevoke", wire::NcclItemKind::Revoke, comm, false));
}

CUCO_NCCL_EXPORT(int, ncclCommCount, (const ncclComm* comm, int* count)) {
  return result(cuco::nccl::ask("ncclCommCount", comm, count, comm == nullptr ? 0 : comm->ranks));
}

CUCO_NCCL_EXPORT(int, ncclCommCuDevice, (const ncclComm* comm, int* device)) {
  return result(
      cuco::nccl::ask("ncclCommCuDevice", comm, device, comm == nullptr ? 0 : comm->device));
}

CUCO_NCCL_EXPORT(int, ncclCommUserRank, (const ncclComm* comm, int* rank)) {
  return result(cuco::nccl::ask("ncclCommUserRank", comm, rank, comm == nullptr ? 0 : comm->rank));
}

CUCO_NCCL_EXPORT(int, ncclCommGetAsyncError, (ncclComm * comm, int* error)) {
  if (comm == nullptr || error == nullptr) return result(Code::InvalidArgument);
  if (const Code code = cuco::nccl::poll(*comm); code != Code::Success) {
    *error = result(code);
    return 0;
  }
  const wire::ClientApi* api = cuco::nccl::client();
  if (api == nullptr) return result(Code::SystemError);
  wire::NcclAsyncError::Reply reply;
  wire::Bytes text;
  if (wire::call(*api, wire::NcclAsyncError{comm->handle}, &reply, {}, &text) != wire::kSuccess) {
    return result(Code::SystemError);
  }
  if (reply.code != 0) comm->last_error = std::string(wire::text_of(text));
  *error = reply.code;
  return 0;
}

CUCO_NCCL_EXPORT(const char*, ncclGetErrorString, (int code)) {
  return cuco::nccl_core::error_string(static_cast<Code>(code));
}

CUCO_NCCL_EXPORT(const char*, ncclGetLastError, (ncclComm * comm)) {
  return cuco::nccl::last_error(comm);
}

CUCO_NCCL_EXPORT(void, ncclResetDebugInit, ()) {}

extern "C" __attribute__((visibility("default"))) void ncclResetDebugInitInternal() {}
