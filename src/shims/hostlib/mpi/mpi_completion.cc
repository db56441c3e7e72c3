// SPDX-License-Identifier: Apache-2.0
// Waiting for requests of MPI. Those of ours wait in virtual time; what MPI made itself (files,
// one-sided operations) is waited for outside of it.
#include <vector>

#include <sched.h>

#include "shims/hostlib/host_server.h"
#include "shims/hostlib/mpi/mpi_mail.h"
#include "shims/hostlib/mpi/mpi_requests.h"

namespace cuco::hostlib {
namespace {

/// The requests of a list that are ours and not done, and whether there are others.
struct Awaited {
  std::vector<std::uint64_t> numbers;
  std::vector<int> places;
  std::vector<int> foreign;
  int ready = -1;  ///< One of ours that is done.
};

Awaited sort_out(int count, const MPI_Request all[]) {
  Awaited result;
  for (int i = 0; i < count && result.ready < 0; ++i) {
    if (all[i] == MPI_REQUEST_NULL) continue;
    const auto number = awaited_by(all[i]);
    if (!number) {
      result.foreign.push_back(i);
    } else if (*number == 0) {
      result.ready = i;
    } else {
      result.numbers.push_back(*number);
      result.places.push_back(i);
    }
  }
  return result;
}

MPI_Status* status_at(MPI_Status statuses[], int place) {
  return statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : &statuses[place];
}

/// One of those that are done now; -1: none. Foreign requests that are done stay for MPI to end.
int find_done(const wire::ClientApi& api, const Awaited& awaited, MPI_Request all[]) {
  if (awaited.ready >= 0) return awaited.ready;
  if (!awaited.numbers.empty()) {
    const int index = mail_test(api, awaited.numbers);
    if (index >= 0) {
      const int place = awaited.places[static_cast<std::size_t>(index)];
      note_done(all[place]);
      return place;
    }
  }
  for (const int place : awaited.foreign) {
    int flag = 0;
    PMPI_Request_get_status(all[place], &flag, MPI_STATUS_IGNORE);
    if (flag != 0) return place;
  }
  return -1;
}

int end(const wire::ClientApi& api, MPI_Request* request, MPI_Status* status) {
  if (awaited_by(*request)) return finish_request(request, status);
  const Outside outside(api, wire::HostWait::MessagePassing);
  return PMPI_Wait(request, status);
}

}  // namespace
}  // namespace cuco::hostlib

using namespace cuco::hostlib;  // NOLINT(google-build-using-namespace): definitions of C functions

CUCO_HOST_EXPORT int MPI_Wait(MPI_Request* request, MPI_Status* status) {
  const auto* api = server();
  if (api == nullptr || *request == MPI_REQUEST_NULL) return PMPI_Wait(request, status);
  const auto number = awaited_by(*request);
  if (number && *number != 0) {
    mail_wait(*api, {*number});
    note_done(*request);
  }
  return end(*api, request, status);
}

CUCO_HOST_EXPORT int MPI_Waitall(int count, MPI_Request all[], MPI_Status statuses[]) {
  if (server() == nullptr) return PMPI_Waitall(count, all, statuses);
  int result = MPI_SUCCESS;
  for (int i = 0; i < count; ++i) {
    MPI_Status* status = status_at(statuses, i);
    const int code = MPI_Wait(&all[i], status);
    if (status != MPI_STATUS_IGNORE) status->MPI_ERROR = code;
    if (code != MPI_SUCCESS) result = MPI_ERR_IN_STATUS;
  }
  return result;
}

CUCO_HOST_EXPORT int MPI_Waitany(int count, MPI_Request all[], int* index, MPI_Status* status) {
  const auto* api = server();
  if (api == nullptr) return PMPI_Waitany(count, all, index, status);
  for (;;) {
    const Awaited awaited = sort_out(count, all);
    if (awaited.ready < 0 && awaited.numbers.empty() && awaited.foreign.empty()) {
      *index = MPI_UNDEFINED;
      fill_empty_status(status);
      return MPI_SUCCESS;
    }
    int done = awaited.ready;
    if (done < 0 && awaited.foreign.empty()) {
      done = awaited.places[mail_wait(*api, awaited.numbers)];
      note_done(all[done]);
    } else if (done < 0) {
      done = find_done(*api, awaited, all);
    }
    if (done >= 0) {
      *index = done;
      return end(*api, &all[done], status);
    }
    ::sched_yield();
  }
}

CUCO_HOST_EXPORT int MPI_Waitsome(
    int count, MPI_Request all[], int* done, int indices[], MPI_Status statuses[]) {
  const auto* api = server();
  if (api == nullptr) return PMPI_Waitsome(count, all, done, indices, statuses);
  int result = MPI_Waitany(count, all, indices, status_at(statuses, 0));
  if (indices[0] == MPI_UNDEFINED) {
    *done = MPI_UNDEFINED;
    return result;
  }
  // Whatever else has come by then.
  *done = 1;
  for (int place = -1; result == MPI_SUCCESS; ++*done) {
    place = find_done(*api, sort_out(count, all), all);
    if (place < 0) break;
    indices[*done] = place;
    result = end(*api, &all[place], status_at(statuses, *done));
  }
  return result;
}

CUCO_HOST_EXPORT int MPI_Test(MPI_Request* request, int* flag, MPI_Status* status) {
  const auto* api = server();
  const auto number = api == nullptr ? std::nullopt : awaited_by(*request);
  if (!number) return PMPI_Test(request, flag, status);
  *flag = *number == 0 || mail_test(*api, {*number}) == 0 ? 1 : 0;
  if (*flag == 0) return MPI_SUCCESS;
  note_done(*request);
  return finish_request(request, status);
}

CUCO_HOST_EXPORT int MPI_Testany(
    int count, MPI_Request all[], int* index, int* flag, MPI_Status* status) {
  const auto* api = server();
  if (api == nullptr) return PMPI_Testany(count, all, index, flag, status);
  const Awaited awaited = sort_out(count, all);
  *index = find_done(*api, awaited, all);
  *flag = *index >= 0 ? 1 : 0;
  if (*flag != 0) return end(*api, &all[*index], status);
  *index = MPI_UNDEFINED;
  if (awaited.numbers.empty() && awaited.foreign.empty()) {
    *flag = 1;
    fill_empty_status(status);
  }
  return MPI_SUCCESS;
}

CUCO_HOST_EXPORT int MPI_Testsome(
    int count, MPI_Request all[], int* done, int indices[], MPI_Status statuses[]) {
  const auto* api = server();
  if (api == nullptr) return PMPI_Testsome(count, all, done, indices, statuses);
  int result = MPI_SUCCESS;
  bool is_empty = true;
  for (*done = 0; result == MPI_SUCCESS; ++*done) {
    const Awaited awaited = sort_out(count, all);
    is_empty = is_empty && awaited.ready < 0 && awaited.numbers.empty() && awaited.foreign.empty();
    const int place = find_done(*api, awaited, all);
    if (place < 0) break;
    indices[*done] = place;
    result = end(*api, &all[place], status_at(statuses, *done));
  }
  if (is_empty) *done = MPI_UNDEFINED;
  return result;
}

CUCO_HOST_EXPORT int MPI_Testall(int count, MPI_Request all[], int* flag, MPI_Status statuses[]) {
  const auto* api = server();
  if (api == nullptr) return PMPI_Testall(count, all, flag, statuses);
  *flag = 0;
  for (int i = 0; i < count; ++i) {
    if (all[i] == MPI_REQUEST_NULL) continue;
    const auto number = awaited_by(all[i]);
    if (!number) {
      int is_done = 0;
      PMPI_Request_get_status(all[i], &is_done, MPI_STATUS_IGNORE);
      if (is_done == 0) return MPI_SUCCESS;
    } else if (*number != 0) {
      if (mail_test(*api, {*number}) != 0) return MPI_SUCCESS;
      note_done(all[i]);  // It has come; that cannot be undone.
    }
  }
  *flag = 1;
  return MPI_Waitall(count, all, statuses);
}

CUCO_HOST_EXPORT int MPI_Request_get_status(MPI_Request request, int* flag, MPI_Status* status) {
  const auto* api = server();
  const auto number = api == nullptr ? std::nullopt : awaited_by(request);
  if (!number) return PMPI_Request_get_status(request, flag, status);
  *flag = *number == 0 || mail_test(*api, {*number}) == 0 ? 1 : 0;
  if (*flag == 0) return MPI_SUCCESS;
  note_done(request);
  return look_at_request(request, status);
}

CUCO_HOST_EXPORT int MPI_Cancel(MPI_Request* request) {
  const auto* api = server();
  return api != nullptr && cancel_request(*api, *request) ? MPI_SUCCESS : PMPI_Cancel(request);
}

CUCO_HOST_EXPORT int MPI_Request_free(MPI_Request* request) {
  return free_request(request) ? MPI_SUCCESS : PMPI_Request_free(request);
}
