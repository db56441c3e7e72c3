// SPDX-License-Identifier: Apache-2.0
// Non-blocking collectives of MPI, made of messages: a rank hands in what others need of it when it
// calls, and is done when what it needs has come. So nobody has to be inside MPI for another.
#include <algorithm>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "hostlib/mpi_comms.h"
#include "hostlib/mpi_mail.h"
#include "hostlib/mpi_requests.h"
#include "hostlib/server.h"

namespace cuco::hostlib {
namespace {

constexpr int kTag = 0;

/// One rank's part of a non-blocking collective.
class Exchange {
 public:
  Exchange(const wire::ClientApi& api, MPI_Comm comm)
      : api_(api), facts_(facts_of(comm)), name_(next_collective(comm)) {}

  [[nodiscard]] int rank() const { return facts_.rank; }
  [[nodiscard]] int size() const { return facts_.size; }

  void send(int rank, const Payload& payload) {
    (void)mail_send(api_, {name_, facts_.rank}, facts_.world[static_cast<std::size_t>(rank)], kTag,
                    payload, false);
  }
  void send_all(const Payload& payload) {
    for (int rank = 0; rank < size(); ++rank)
      send(rank, payload);
  }
  void receive(int rank) {
    sources_.push_back(rank);
    numbers_.push_back(mail_receive(api_, name_, rank, kTag));
  }
  void receive_all() {
    for (int rank = 0; rank < size(); ++rank)
      receive(rank);
  }

  /// `use` gets each payload and the rank it came from, in the order of the receives.
  using Use = std::function<int(int rank, const Payload& payload)>;
  MPI_Request launch(Use use) {
    Operation operation;
    operation.number = mail_join(api_, numbers_);
    operation.finish = [&api = api_, numbers = numbers_, sources = sources_,
                        use = std::move(use)](MPI_Status*) {
      int result = MPI_SUCCESS;
      for (std::size_t i = 0; i < numbers.size(); ++i) {
        const Mail mail = mail_fetch(api, numbers[i]);
        const int code = use ? use(sources[i], mail.payload) : MPI_SUCCESS;
        if (code != MPI_SUCCESS) result = code;
      }
      return result;
    };
    return new_request(std::move(operation));
  }

 private:
  const wire::ClientApi& api_;
  CommFacts facts_;
  std::uint64_t name_;
  std::vector<int> sources_;
  std::vector<std::uint64_t> numbers_;
};

/// Data of some type in the program's memory.
struct Data {
  void* start = nullptr;
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_Comm comm = MPI_COMM_NULL;

  [[nodiscard]] char* at(std::int64_t elements) const {
    MPI_Aint low = 0;
    MPI_Aint extent = 0;
    PMPI_Type_get_extent(type, &low, &extent);
    return static_cast<char*>(start) + elements * extent;
  }
  [[nodiscard]] Payload pack_at(std::int64_t elements, int count) const {
    return pack(at(elements), count, type, comm);
  }
  int unpack_at(std::int64_t elements, int count, const Payload& payload) const {
    return unpack(payload, at(elements), count, type, comm);
  }
};

Data data_of(const void* start, MPI_Datatype type, MPI_Comm comm) {
  return {const_cast<void*>(start), type, comm};
}

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

}  // namespace
}  // namespace cuco::hostlib

using namespace cuco::hostlib;  // NOLINT(google-build-using-namespace): definitions of C functions

CUCO_HOST_EXPORT int MPI_Ibarrier(MPI_Comm comm, MPI_Request* request) {
  const auto* api = server();
  if (api == nullptr) return PMPI_Ibarrier(comm, request);
  Exchange exchange(*api, comm);
  exchange.send_all({});
  exchange.receive_all();
  *request = exchange.launch(nullptr);
  return MPI_SUCCESS;
}

CUCO_HOST_EXPORT int MPI_Ibcast(
    void* data, int count, MPI_Datatype type, int root, MPI_Comm comm, MPI_Request* request) {
  const auto* api = server();
  if (api == nullptr) return PMPI_Ibcast(data, count, type, root, comm, request);
  Exchange exchange(*api, comm);
  const Data buffer = data_of(data, type, comm);
  if (exchange.rank() == root) {
    const Payload payload = buffer.pack_at(0, count);
    for (int rank = 0; rank < exchange.size(); ++rank) {
      if (rank != root) exchange.send(rank, payload);
    }
  } else {
    exchange.receive(root);
  }
  *request = exchange.launch(
      [=](int, const Payload& payload) { return buffer.unpack_at(0, count, payload); });
  return MPI_SUCCESS;
}

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
  Exchange exchange(*api, comm);
  const Data out = data_of(recv, type, comm);
  const Payload mine = pack(send == MPI_IN_PLACE ? recv : send, count, type, comm);
  for (int rank = exchange.rank(); rank < exchange.size(); ++rank)
    exchange.send(rank, mine);
  *request = launch_fold(exchange, Fold(count, type, op, comm), 0, exchange.rank() + 1,
                         [=](const Payload& sum) { return out.unpack_at(0, count, sum); });
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
  Exchange exchange(*api, comm);
  const Data out = data_of(recv, type, comm);
  const Payload mine = pack(send == MPI_IN_PLACE ? recv : send, count, type, comm);
  for (int rank = exchange.rank() + 1; rank < exchange.size(); ++rank)
    exchange.send(rank, mine);
  *request = launch_fold(exchange, Fold(count, type, op, comm), 0, exchange.rank(),
                         [=](const Payload& sum) { return out.unpack_at(0, count, sum); });
  return MPI_SUCCESS;
}

// ---- gathers, scatters, exchanges: the plain ones are the v-variants with even places ----

namespace {

/// Counts and places of ranks; null arrays: `count` each, one after the other.
struct Parts {
  const int* counts = nullptr;
  const int* places = nullptr;
  int count = 0;

  [[nodiscard]] int count_of(int rank) const { return counts == nullptr ? count : counts[rank]; }
  [[nodiscard]] std::int64_t place_of(int rank) const {
    return places == nullptr ? std::int64_t{rank} * count : places[rank];
  }
};

/// The arrays of the program may be gone when the collective ends.
struct KeptParts {
  KeptParts(const Parts& parts, int size) {
    for (int rank = 0; rank < size; ++rank) {
      counts.push_back(parts.count_of(rank));
      places.push_back(parts.place_of(rank));
    }
  }
  std::vector<int> counts;
  std::vector<std::int64_t> places;
};

MPI_Request launch_into(Exchange& exchange, const Data& out, const Parts& parts) {
  return exchange.launch(
      [out, kept = KeptParts(parts, exchange.size())](int rank, const Payload& payload) {
        const auto at = static_cast<std::size_t>(rank);
        return out.unpack_at(kept.places[at], kept.counts[at], payload);
      });
}

int start_gather(const cuco::wire::ClientApi& api,
                 const Data& in,
                 int in_count,
                 const Data& out,
                 const Parts& parts,
                 int root,  // -1: all
                 MPI_Request* request) {
  Exchange exchange(api, in.comm);
  const bool in_place = in.start == MPI_IN_PLACE;
  const Payload mine =
      in_place ? out.pack_at(parts.place_of(exchange.rank()), parts.count_of(exchange.rank()))
               : in.pack_at(0, in_count);
  if (root < 0) {
    exchange.send_all(mine);
  } else {
    exchange.send(root, mine);
  }
  if (root >= 0 && root != exchange.rank()) {
    *request = exchange.launch(nullptr);
  } else {
    exchange.receive_all();
    *request = launch_into(exchange, out, parts);
  }
  return MPI_SUCCESS;
}

int start_scatter(const cuco::wire::ClientApi& api,
                  const Data& in,
                  const Parts& parts,
                  const Data& out,
                  int out_count,
                  int root,
                  MPI_Request* request) {
  Exchange exchange(api, in.comm);
  const bool in_place = out.start == MPI_IN_PLACE;
  if (exchange.rank() == root) {
    for (int rank = 0; rank < exchange.size(); ++rank) {
      if (rank != root || !in_place) {
        exchange.send(rank, in.pack_at(parts.place_of(rank), parts.count_of(rank)));
      }
    }
  }
  if (!in_place) exchange.receive(root);
  *request = exchange.launch(
      [=](int, const Payload& payload) { return out.unpack_at(0, out_count, payload); });
  return MPI_SUCCESS;
}

int start_exchange(const cuco::wire::ClientApi& api,
                   const Data& in,
                   const Parts& in_parts,
                   const Data& out,
                   const Parts& out_parts,
                   MPI_Request* request) {
  Exchange exchange(api, out.comm);
  const bool in_place = in.start == MPI_IN_PLACE;
  const Data& from = in_place ? out : in;
  const Parts& parts = in_place ? out_parts : in_parts;
  for (int rank = 0; rank < exchange.size(); ++rank) {
    exchange.send(rank, from.pack_at(parts.place_of(rank), parts.count_of(rank)));
  }
  exchange.receive_all();
  *request = launch_into(exchange, out, out_parts);
  return MPI_SUCCESS;
}

}  // namespace

// NOLINTBEGIN(readability-function-size): MPI's signatures.
CUCO_HOST_EXPORT int MPI_Igather(const void* send,
                                 int send_count,
                                 MPI_Datatype send_type,
                                 void* recv,
                                 int recv_count,
                                 MPI_Datatype recv_type,
                                 int root,
                                 MPI_Comm comm,
                                 MPI_Request* request) {
  const auto* api = server();
  if (api == nullptr) {
    return PMPI_Igather(send, send_count, send_type, recv, recv_count, recv_type, root, comm,
                        request);
  }
  return start_gather(*api, data_of(send, send_type, comm), send_count,
                      data_of(recv, recv_type, comm), {nullptr, nullptr, recv_count}, root,
                      request);
}

CUCO_HOST_EXPORT int MPI_Igatherv(const void* send,
                                  int send_count,
                                  MPI_Datatype send_type,
                                  void* recv,
                                  const int counts[],
                                  const int places[],
                                  MPI_Datatype recv_type,
                                  int root,
                                  MPI_Comm comm,
                                  MPI_Request* request) {
  const auto* api = server();
  if (api == nullptr) {
    return PMPI_Igatherv(send, send_count, send_type, recv, counts, places, recv_type, root, comm,
                         request);
  }
  return start_gather(*api, data_of(send, send_type, comm), send_count,
                      data_of(recv, recv_type, comm), {counts, places, 0}, root, request);
}

CUCO_HOST_EXPORT int MPI_Iallgather(const void* send,
                                    int send_count,
                                    MPI_Datatype send_type,
                                    void* recv,
                                    int recv_count,
                                    MPI_Datatype recv_type,
                                    MPI_Comm comm,
                                    MPI_Request* request) {
  const auto* api = server();
  if (api == nullptr) {
    return PMPI_Iallgather(send, send_count, send_type, recv, recv_count, recv_type, comm, request);
  }
  return start_gather(*api, data_of(send, send_type, comm), send_count,
                      data_of(recv, recv_type, comm), {nullptr, nullptr, recv_count}, -1, request);
}

CUCO_HOST_EXPORT int MPI_Iallgatherv(const void* send,
                                     int send_count,
                                     MPI_Datatype send_type,
                                     void* recv,
                                     const int counts[],
                                     const int places[],
                                     MPI_Datatype recv_type,
                                     MPI_Comm comm,
                                     MPI_Request* request) {
  const auto* api = server();
  if (api == nullptr) {
    return PMPI_Iallgatherv(send, send_count, send_type, recv, counts, places, recv_type, comm,
                            request);
  }
  return start_gather(*api, data_of(send, send_type, comm), send_count,
                      data_of(recv, recv_type, comm), {counts, places, 0}, -1, request);
}

CUCO_HOST_EXPORT int MPI_Iscatter(const void* send,
                                  int send_count,
                                  MPI_Datatype send_type,
                                  void* recv,
                                  int recv_count,
                                  MPI_Datatype recv_type,
                                  int root,
                                  MPI_Comm comm,
                                  MPI_Request* request) {
  const auto* api = server();
  if (api == nullptr) {
    return PMPI_Iscatter(send, send_count, send_type, recv, recv_count, recv_type, root, comm,
                         request);
  }
  return start_scatter(*api, data_of(send, send_type, comm), {nullptr, nullptr, send_count},
                       data_of(recv, recv_type, comm), recv_count, root, request);
}

CUCO_HOST_EXPORT int MPI_Iscatterv(const void* send,
                                   const int counts[],
                                   const int places[],
                                   MPI_Datatype send_type,
                                   void* recv,
                                   int recv_count,
                                   MPI_Datatype recv_type,
                                   int root,
                                   MPI_Comm comm,
                                   MPI_Request* request) {
  const auto* api = server();
  if (api == nullptr) {
    return PMPI_Iscatterv(send, counts, places, send_type, recv, recv_count, recv_type, root, comm,
                          request);
  }
  return start_scatter(*api, data_of(send, send_type, comm), {counts, places, 0},
                       data_of(recv, recv_type, comm), recv_count, root, request);
}

CUCO_HOST_EXPORT int MPI_Ialltoall(const void* send,
                                   int send_count,
                                   MPI_Datatype send_type,
                                   void* recv,
                                   int recv_count,
                                   MPI_Datatype recv_type,
                                   MPI_Comm comm,
                                   MPI_Request* request) {
  const auto* api = server();
  if (api == nullptr) {
    return PMPI_Ialltoall(send, send_count, send_type, recv, recv_count, recv_type, comm, request);
  }
  return start_exchange(*api, data_of(send, send_type, comm), {nullptr, nullptr, send_count},
                        data_of(recv, recv_type, comm), {nullptr, nullptr, recv_count}, request);
}

CUCO_HOST_EXPORT int MPI_Ialltoallv(const void* send,
                                    const int send_counts[],
                                    const int send_places[],
                                    MPI_Datatype send_type,
                                    void* recv,
                                    const int recv_counts[],
                                    const int recv_places[],
                                    MPI_Datatype recv_type,
                                    MPI_Comm comm,
                                    MPI_Request* request) {
  const auto* api = server();
  if (api == nullptr) {
    return PMPI_Ialltoallv(send, send_counts, send_places, send_type, recv, recv_counts,
                           recv_places, recv_type, comm, request);
  }
  return start_exchange(*api, data_of(send, send_type, comm), {send_counts, send_places, 0},
                        data_of(recv, recv_type, comm), {recv_counts, recv_places, 0}, request);
}
// NOLINTEND(readability-function-size)
