// SPDX-License-Identifier: Apache-2.0
// Non-blocking reductions and scans of MPI.
#include <algorithm>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "shims/hostlib/host_server.h"
#include "shims/hostlib/mpi/mpi_exchange.h"

namespace cuco::hostlib {
namespace {

/// Folds contributions in the order of ranks: x0 op (x1 op (x2 …)).
class Fold {
 public:
  Fold(int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm)
      : count_(count), type_(type), op_(op), comm_(comm) {
    PMPI_Type_get_true_extent(type, &low_, &true_extent_);
    MPI_Aint low = 0;
    PMPI_Type_get_extent(type, &low, &extent_);
  }

  void add(const Payload& payload) { parts_.push_back(unpacked(payload)); }
  /// The result, packed again; empty if nothing was added.
  [[nodiscard]] Payload result() {
    if (parts_.empty()) return {};
    for (std::size_t i = parts_.size() - 1; i-- > 0;) {
      PMPI_Reduce_local(parts_[i].data() - low_, parts_.back().data() - low_, count_, type_, op_);
    }
    return pack(parts_.back().data() - low_, count_, type_, comm_);
  }

 private:
  [[nodiscard]] std::vector<char> unpacked(const Payload& payload) const {
    std::vector<char> part(
        static_cast<std::size_t>(true_extent_ + extent_ * std::max(0, count_ - 1)));
    (void)unpack(payload, part.data() - low_, count_, type_, comm_);
    return part;
  }

  int count_;
  MPI_Datatype type_;
  MPI_Op op_;
  MPI_Comm comm_;
  MPI_Aint low_ = 0;
  MPI_Aint true_extent_ = 0;
  MPI_Aint extent_ = 0;
  std::vector<std::vector<char>> parts_;
};

/// Contributions of ranks `first` to `last` (exclusive) are folded; the result goes to `done`.
MPI_Request launch_fold(
    Exchange& exchange, Fold fold, int first, int last, std::function<int(const Payload&)> done) {
  for (int rank = first; rank < last; ++rank)
    exchange.receive(rank);
  const auto state = std::make_shared<Fold>(std::move(fold));
  return exchange.launch([state, last, done = std::move(done)](int rank, const Payload& payload) {
    state->add(payload);
    return rank + 1 == last ? done(state->result()) : MPI_SUCCESS;
  });
}

/// Everybody gets the fold of the ranks up to its own; its own part is in it or not.
MPI_Request start_scan(
    Exchange exchange, const void* send, const Data& out, int count, MPI_Op op, bool with_own) {
  const Payload mine = pack(send == MPI_IN_PLACE ? out.start : send, count, out.type, out.comm);
  for (int rank = exchange.rank() + (with_own ? 0 : 1); rank < exchange.size(); ++rank)
    exchange.send(rank, mine);
  const int last = exchange.rank() + (with_own ? 1 : 0);
  return launch_fold(exchange, Fold(count, out.type, op, out.comm), 0, last,
                     [=](const Payload& sum) { return out.unpack_at(0, count, sum); });
}

}  // namespace
}  // namespace cuco::hostlib

using namespace cuco::hostlib;  // NOLINT(google-build-using-namespace): definitions of C functions

// NOLINTBEGIN(readability-function-size): MPI's signatures.
CUCO_HOST_EXPORT int MPI_Ireduce(const void* send,
                                 void* recv,
                                 int count,
                                 MPI_Datatype type,
                                 MPI_Op op,
                                 int root,
                                 MPI_Comm comm,
                                 MPI_Request* request) {
  const auto* api = server();
  if (api == nullptr) return PMPI_Ireduce(send, recv, count, type, op, root, comm, request);
  Exchange exchange(*api, comm);
  const Data out = data_of(recv, type, comm);
  exchange.send(root, pack(send == MPI_IN_PLACE ? recv : send, count, type, comm));
  const int last = exchange.rank() == root ? exchange.size() : 0;
  *request = launch_fold(exchange, Fold(count, type, op, comm), 0, last,
                         [=](const Payload& sum) { return out.unpack_at(0, count, sum); });
  return MPI_SUCCESS;
}

CUCO_HOST_EXPORT int MPI_Iallreduce(const void* send,
                                    void* recv,
                                    int count,
                                    MPI_Datatype type,
                                    MPI_Op op,
                                    MPI_Comm comm,
                                    MPI_Request* request) {
  const auto* api = server();
  if (api == nullptr) return PMPI_Iallreduce(send, recv, count, type, op, comm, request);
  Exchange exchange(*api, comm);
  const Data out = data_of(recv, type, comm);
  exchange.send_all(pack(send == MPI_IN_PLACE ? recv : send, count, type, comm));
  *request = launch_fold(exchange, Fold(count, type, op, comm), 0, exchange.size(),
                         [=](const Payload& sum) { return out.unpack_at(0, count, sum); });
  return MPI_SUCCESS;
}

CUCO_HOST_EXPORT int MPI_Ireduce_scatter(const void* send,
                                         void* recv,
                                         const int counts[],
                                         MPI_Datatype type,
                                         MPI_Op op,
                                         MPI_Comm comm,
                                         MPI_Request* request) {
  const auto* api = server();
  if (api == nullptr) return PMPI_Ireduce_scatter(send, recv, counts, type, op, comm, request);
  Exchange exchange(*api, comm);
  const Data in = data_of(send == MPI_IN_PLACE ? recv : send, type, comm);
  const Data out = data_of(recv, type, comm);
  std::int64_t place = 0;
  for (int rank = 0; rank < exchange.size(); ++rank) {
    exchange.send(rank, in.pack_at(place, counts[rank]));
    place += counts[rank];
  }
  const int count = counts[exchange.rank()];
  *request = launch_fold(exchange, Fold(count, type, op, comm), 0, exchange.size(),
                         [=](const Payload& sum) { return out.unpack_at(0, count, sum); });
  return MPI_SUCCESS;
}

CUCO_HOST_EXPORT int MPI_Ireduce_scatter_block(const void* send,
                                               void* recv,
                                               int count,
                                               MPI_Datatype type,
                                               MPI_Op op,
                                               MPI_Comm comm,
                                               MPI_Request* request) {
  if (server() == nullptr) {
    return PMPI_Ireduce_scatter_block(send, recv, count, type, op, comm, request);
  }
  const std::vector<int> counts(static_cast<std::size_t>(facts_of(comm).size), count);
  return MPI_Ireduce_scatter(send, recv, counts.data(), type, op, comm, request);
}

CUCO_HOST_EXPORT int MPI_Iscan(const void* send,
                               void* recv,
                               int count,
                               MPI_Datatype type,
                               MPI_Op op,
                               MPI_Comm comm,
                               MPI_Request* request) {
  const auto* api = server();
  if (api == nullptr) return PMPI_Iscan(send, recv, count, type, op, comm, request);
  *request = start_scan(Exchange(*api, comm), send, data_of(recv, type, comm), count, op, true);
  return MPI_SUCCESS;
}

CUCO_HOST_EXPORT int MPI_Iexscan(const void* send,
                                 void* recv,
                                 int count,
                                 MPI_Datatype type,
                                 MPI_Op op,
                                 MPI_Comm comm,
                                 MPI_Request* request) {
  const auto* api = server();
  if (api == nullptr) return PMPI_Iexscan(send, recv, count, type, op, comm, request);
  *request = start_scan(Exchange(*api, comm), send, data_of(recv, type, comm), count, op, false);
  return MPI_SUCCESS;
}
// NOLINTEND(readability-function-size)
