// SPDX-License-Identifier: Apache-2.0
/// \file
/// NCCL's functions that enqueue a collective, a send or a receive. One source of each library that
/// takes NCCL's place includes this, and defines submit().
#pragma once

#include <cstddef>

#include "nccl_core/collective.h"
#include "nccl_core/exported_twice.h"

struct ncclComm;

namespace cuco::nccl_core {

/// The arguments that all of these calls share.
struct CollectiveArguments {
  const void* send = nullptr;
  void* recv = nullptr;
  std::size_t count = 0;
  int type = 0;
  int op = 0;
  int root = 0;  ///< Or the peer.
};

/// Checks the call and enqueues it, or adds it to the thread's group; a ncclResult_t.
int submit(Kind kind, const CollectiveArguments& arguments, ncclComm* comm, void* stream);

}  // namespace cuco::nccl_core

using cuco::nccl_core::Kind;

CUCO_NCCL_EXPORT(
    int,
    ncclAllReduce,
    (const void* send, void* recv, size_t count, int type, int op, ncclComm* comm, void* stream)) {
  return cuco::nccl_core::submit(Kind::AllReduce, {send, recv, count, type, op, 0}, comm, stream);
}

// NOLINTNEXTLINE(readability-function-size): NCCL's signature.
CUCO_NCCL_EXPORT(int,
                 ncclReduce,
                 (const void* send,
                  void* recv,
                  size_t count,
                  int type,
                  int op,
                  int root,
                  ncclComm* comm,
                  void* stream)) {
  return cuco::nccl_core::submit(Kind::Reduce, {send, recv, count, type, op, root}, comm, stream);
}

CUCO_NCCL_EXPORT(int,
                 ncclBroadcast,
                 (const void* send,
                  void* recv,
                  size_t count,
                  int type,
                  int root,
                  ncclComm* comm,
                  void* stream)) {
  return cuco::nccl_core::submit(Kind::Broadcast, {send, recv, count, type, 0, root}, comm, stream);
}

CUCO_NCCL_EXPORT(int,
                 ncclBcast,
                 (void* buffer, size_t count, int type, int root, ncclComm* comm, void* stream)) {
  return cuco::nccl_core::submit(Kind::Broadcast, {buffer, buffer, count, type, 0, root}, comm,
                                 stream);
}

CUCO_NCCL_EXPORT(
    int,
    ncclAllGather,
    (const void* send, void* recv, size_t count, int type, ncclComm* comm, void* stream)) {
  return cuco::nccl_core::submit(Kind::AllGather, {send, recv, count, type, 0, 0}, comm, stream);
}

CUCO_NCCL_EXPORT(
    int,
    ncclReduceScatter,
    (const void* send, void* recv, size_t count, int type, int op, ncclComm* comm, void* stream)) {
  return cuco::nccl_core::submit(Kind::ReduceScatter, {send, recv, count, type, op, 0}, comm,
                                 stream);
}

CUCO_NCCL_EXPORT(
    int,
    ncclAlltoAll,
    (const void* send, void* recv, size_t count, int type, ncclComm* comm, void* stream)) {
  return cuco::nccl_core::submit(Kind::AllToAll, {send, recv, count, type, 0, 0}, comm, stream);
}

CUCO_NCCL_EXPORT(int,
                 ncclGather,
                 (const void* send,
                  void* recv,
                  size_t count,
                  int type,
                  int root,
                  ncclComm* comm,
                  void* stream)) {
  return cuco::nccl_core::submit(Kind::Gather, {send, recv, count, type, 0, root}, comm, stream);
}

CUCO_NCCL_EXPORT(int,
                 ncclScatter,
                 (const void* send,
                  void* recv,
                  size_t count,
                  int type,
                  int root,
                  ncclComm* comm,
                  void* stream)) {
  return cuco::nccl_core::submit(Kind::Scatter, {send, recv, count, type, 0, root}, comm, stream);
}

CUCO_NCCL_EXPORT(
    int,
    ncclSend,
    (const void* send, size_t count, int type, int peer, ncclComm* comm, void* stream)) {
  return cuco::nccl_core::submit(Kind::Send, {send, nullptr, count, type, 0, peer}, comm, stream);
}

CUCO_NCCL_EXPORT(int,
                 ncclRecv,
                 (void* recv, size_t count, int type, int peer, ncclComm* comm, void* stream)) {
  return cuco::nccl_core::submit(Kind::Recv, {nullptr, recv, count, type, 0, peer}, comm, stream);
}
