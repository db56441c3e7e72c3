// SPDX-License-Identifier: Apache-2.0
#include "shims/hostlib/mpi/mpi_requests.h"

#include <map>
#include <mutex>
#include <utility>

#include "shims/hostlib/mpi/mpi_mail.h"

namespace cuco::hostlib {
namespace {

struct Entry {
  Operation operation;
  std::function<Operation()> start;  ///< Set: persistent.
  bool is_active = true;
};

struct Requests {
  std::mutex mutex;
  std::map<MPI_Request, Entry> entries;
};
Requests& requests() {
  static auto* const kRequests = new Requests;  // MPI calls may come from destructors of globals.
  return *kRequests;
}

int query(void* /*state*/, MPI_Status* status) {
  fill_empty_status(status);
  return MPI_SUCCESS;
}
int do_nothing(void* /*state*/) {
  return MPI_SUCCESS;
}
int cancel_nothing(void* /*state*/, int /*complete*/) {
  return MPI_SUCCESS;
}

MPI_Request new_handle(Entry entry) {
  MPI_Request request = MPI_REQUEST_NULL;
  PMPI_Grequest_start(query, do_nothing, cancel_nothing, nullptr, &request);
  const std::lock_guard lock(requests().mutex);
  requests().entries[request] = std::move(entry);
  return request;
}

void drop_handle(MPI_Request* request) {
  {
    const std::lock_guard lock(requests().mutex);
    requests().entries.erase(*request);
  }
  PMPI_Grequest_complete(*request);
  PMPI_Wait(request, MPI_STATUS_IGNORE);
}

}  // namespace

MPI_Request new_request(Operation operation) {
  return new_handle({std::move(operation), nullptr, true});
}

MPI_Request new_persistent_request(std::function<Operation()> start) {
  return new_handle({{}, std::move(start), false});
}

bool start_request(MPI_Request request) {
  std::function<Operation()> start;
  {
    const std::lock_guard lock(requests().mutex);
    const auto found = requests().entries.find(request);
    if (found == requests().entries.end() || !found->second.start) return false;
    start = found->second.start;
  }
  Operation operation = start();  // Talks to the server: not under the lock.
  const std::lock_guard lock(requests().mutex);
  Entry& entry = requests().entries[request];
  entry.operation = std::move(operation);
  entry.is_active = true;
  return true;
}

std::optional<std::uint64_t> awaited_by(MPI_Request request) {
  const std::lock_guard lock(requests().mutex);
  const auto found = requests().entries.find(request);
  if (found == requests().entries.end()) return std::nullopt;
  return found->second.is_active ? found->second.operation.number : 0;
}

void note_done(MPI_Request request) {
  const std::lock_guard lock(requests().mutex);
  const auto found = requests().entries.find(request);
  if (found != requests().entries.end()) found->second.operation.number = 0;
}

int finish_request(MPI_Request* request, MPI_Status* status) {
  Operation operation;
  bool is_persistent = false;
  {
    const std::lock_guard lock(requests().mutex);
    Entry& entry = requests().entries[*request];
    operation = std::exchange(entry.operation, {});
    is_persistent = static_cast<bool>(entry.start);
    entry.is_active = false;
  }
  fill_empty_status(status);
  const int result = operation.finish ? operation.finish(status) : MPI_SUCCESS;
  if (!is_persistent) drop_handle(request);
  return result;
}

int look_at_request(MPI_Request request, MPI_Status* status) {
  Operation operation;
  {
    const std::lock_guard lock(requests().mutex);
    operation = std::exchange(requests().entries[request].operation, {});
  }
  MPI_Status seen{};
  fill_empty_status(&seen);
  const int result = operation.finish ? operation.finish(&seen) : MPI_SUCCESS;
  if (status != MPI_STATUS_IGNORE) *status = seen;
  // It stays as it was; what has been fetched cannot be fetched again.
  const std::lock_guard lock(requests().mutex);
  requests().entries[request].operation.finish = [seen, result](MPI_Status* out) {
    if (out != MPI_STATUS_IGNORE) *out = seen;
    return result;
  };
  return result;
}

bool cancel_request(const wire::ClientApi& api, MPI_Request request) {
  const auto number = awaited_by(request);
  if (!number) return false;
  if (*number == 0 || !mail_cancel(api, *number)) return true;  // Too late: it completes as it is.
  const std::lock_guard lock(requests().mutex);
  requests().entries[request].operation = {0, [](MPI_Status* status) {
                                             if (status != MPI_STATUS_IGNORE) {
                                               PMPI_Status_set_cancelled(status, 1);
                                             }
                                             return MPI_SUCCESS;
                                           }};
  return true;
}

bool free_request(MPI_Request* request) {
  if (!awaited_by(*request)) return false;
  drop_handle(request);
  return true;
}

}  // namespace cuco::hostlib
