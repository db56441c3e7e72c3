// SPDX-License-Identifier: Apache-2.0
#include "shims/hostlib/mpi/mpi_mail.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include <dlfcn.h>

#include "shims/hostlib/mpi/mpi_comms.h"

namespace cuco::hostlib {
namespace {

wire::Bytes bytes_of_numbers(const std::vector<std::uint64_t>& numbers) {
  return std::as_bytes(std::span(numbers));
}

/// A file in memory with the payload; -1 if the system has none left.
int file_with(std::span<const std::byte> payload) {
  const int file = ::memfd_create("cuco-mail", MFD_CLOEXEC);
  if (file < 0) return -1;
  while (!payload.empty()) {
    const ssize_t written = ::write(file, payload.data(), payload.size());
    if (written <= 0) {
      ::close(file);
      return -1;
    }
    payload = payload.subspan(static_cast<std::size_t>(written));
  }
  return file;
}

Payload read_file(int file, std::uint64_t bytes) {
  Payload payload(bytes);
  std::size_t at = 0;
  while (at < bytes) {
    const ssize_t got = ::pread(file, payload.data() + at, bytes - at, static_cast<::off_t>(at));
    if (got <= 0) break;
    at += static_cast<std::size_t>(got);
  }
  return payload;
}

/// Where the virtual cluster keeps device memory and its aliases, see src/vgpu/address_map.h.
constexpr std::uintptr_t kDeviceMemory = 0x2000'0000'0000;
constexpr std::uintptr_t kEndOfDeviceMemory = 0x4000'0000'0000;

/// A copy in host memory of data on a device.
class Staged {
 public:
  Staged(const void* data, int count, MPI_Datatype type) {
    MPI_Aint low = 0;
    MPI_Aint extent = 0;
    MPI_Aint true_extent = 0;
    PMPI_Type_get_extent(type, &low, &extent);
    PMPI_Type_get_true_extent(type, &low_, &true_extent);
    bytes_.resize(static_cast<std::size_t>(true_extent + extent * (count - 1)));
    device_ = static_cast<char*>(const_cast<void*>(data)) + low_;
    copy(bytes_.data(), device_);
  }
  [[nodiscard]] void* data() const { return const_cast<char*>(bytes_.data()) - low_; }
  void write_back() { copy(device_, bytes_.data()); }

 private:
  void copy(void* to, const void* from) const {
    constexpr int kEitherWay = 4;  // cudaMemcpyDefault
    using Copy = int (*)(void*, const void*, std::size_t, int);
    static const auto kCopy = reinterpret_cast<Copy>(::dlsym(RTLD_DEFAULT, "cudaMemcpy"));
    if (kCopy != nullptr) (void)kCopy(to, from, bytes_.size(), kEitherWay);
  }

  std::vector<char> bytes_;
  char* device_ = nullptr;
  MPI_Aint low_ = 0;
};

}  // namespace

bool is_on_device(const void* data) {
  const auto address = reinterpret_cast<std::uintptr_t>(data);
  return address >= kDeviceMemory && address < kEndOfDeviceMemory;
}

Payload pack(const void* data, int count, MPI_Datatype type, MPI_Comm comm) {
  if (count > 0 && is_on_device(data)) {
    const Staged staged(data, count, type);
    return pack(staged.data(), count, type, comm);
  }
  int bytes = 0;
  PMPI_Pack_size(count, type, comm, &bytes);
  Payload payload(static_cast<std::size_t>(bytes));
  int at = 0;
  if (bytes != 0) PMPI_Pack(data, count, type, payload.data(), bytes, &at, comm);
  payload.resize(static_cast<std::size_t>(at));
  return payload;
}

int unpack(
    std::span<const std::byte> payload, void* data, int count, MPI_Datatype type, MPI_Comm comm) {
  int size = 0;
  PMPI_Type_size(type, &size);
  if (size == 0 || payload.empty()) return MPI_SUCCESS;
  if (is_on_device(data)) {
    Staged staged(data, count, type);  // With what the message leaves as it is.
    const int result = unpack(payload, staged.data(), count, type, comm);
    staged.write_back();
    return result;
  }
  const auto whole = static_cast<std::int64_t>(payload.size()) / size;
  const int elements = static_cast<int>(std::min<std::int64_t>(whole, count));
  int at = 0;
  const int result = PMPI_Unpack(payload.data(), static_cast<int>(payload.size()), &at, data,
                                 elements, type, comm);
  if (result != MPI_SUCCESS) return result;
  return static_cast<std::int64_t>(payload.size()) > std::int64_t{count} * size ? MPI_ERR_TRUNCATE
                                                                                : MPI_SUCCESS;
}

std::uint64_t mail_send(const wire::ClientApi& api,
                        const Address& from,
                        int to_world_rank,
                        int tag,
                        std::span<const std::byte> payload,
                        bool waits_for_taker) {
  wire::MailSend request;
  request.comm = from.comm;
  request.source = from.rank;
  request.tag = tag;
  request.to = static_cast<std::uint32_t>(to_world_rank);
  request.waits_for_taker = waits_for_taker ? 1 : 0;
  request.bytes = payload.size();
  const int file = payload.size() > wire::kMaxMailTail ? file_with(payload) : -1;
  wire::MailSend::Reply reply;
  (void)wire::call(api, request, &reply, file < 0 ? payload : wire::Bytes{}, nullptr, file);
  if (file >= 0) ::close(file);
  return reply.number;
}

std::uint64_t mail_receive(const wire::ClientApi& api, std::uint64_t comm, int source, int tag) {
  wire::MailReceive request;
  request.comm = comm;
  request.source = source == MPI_ANY_SOURCE ? wire::kAnyMail : source;
  request.tag = tag == MPI_ANY_TAG ? wire::kAnyMail : tag;
  request.me = world_rank();
  wire::MailReceive::Reply reply;
  (void)wire::call(api, request, &reply);
  return reply.number;
}

std::uint64_t mail_join(const wire::ClientApi& api, const std::vector<std::uint64_t>& numbers) {
  if (numbers.empty()) return 0;
  wire::MailJoin::Reply reply;
  (void)wire::call(api, wire::MailJoin{static_cast<std::uint32_t>(numbers.size()), 0}, &reply,
                   bytes_of_numbers(numbers));
  return reply.number;
}

std::size_t mail_wait(const wire::ClientApi& api, const std::vector<std::uint64_t>& numbers) {
  while (has_windows()) {
    const int index = mail_test(api, numbers);
    if (index >= 0) return static_cast<std::size_t>(index);
    make_progress();
  }
  wire::MailWait::Reply reply;
  (void)wire::call(api, wire::MailWait{static_cast<std::uint32_t>(numbers.size()), 0}, &reply,
                   bytes_of_numbers(numbers));
  return reply.index;
}

int mail_test(const wire::ClientApi& api, const std::vector<std::uint64_t>& numbers) {
  wire::MailTest::Reply reply;
  (void)wire::call(api, wire::MailTest{static_cast<std::uint32_t>(numbers.size()), 0}, &reply,
                   bytes_of_numbers(numbers));
  return reply.index;
}

Mail mail_fetch(const wire::ClientApi& api, std::uint64_t number) {
  const wire::MailFetch request{number};
  const wire::CallRequest raw{
      .type = wire::MailFetch::kType, .head = &request, .head_bytes = sizeof request};
  wire::CallReply answer;
  if (!api.call(&raw, &answer)) return {};
  const wire::Bytes bytes(answer.payload, answer.bytes);
  const auto reply = wire::read_front<wire::MailFetch::Reply>(bytes);
  if (!reply) return {};
  const wire::Bytes tail = bytes.subspan(sizeof *reply);
  return {reply->source, reply->tag,
          answer.fd >= 0 ? read_file(answer.fd, reply->bytes) : Payload(tail.begin(), tail.end())};
}

bool mail_cancel(const wire::ClientApi& api, std::uint64_t number) {
  wire::MailCancel::Reply reply;
  (void)wire::call(api, wire::MailCancel{number}, &reply);
  return reply.cancelled != 0;
}

void fill_status(MPI_Status* status, int source, int tag, std::uint64_t bytes) {
  if (status == MPI_STATUS_IGNORE) return;
  status->MPI_SOURCE = source;
  status->MPI_TAG = tag;
  status->MPI_ERROR = MPI_SUCCESS;
  PMPI_Status_set_elements_x(status, MPI_BYTE, static_cast<MPI_Count>(bytes));
  PMPI_Status_set_cancelled(status, 0);
}

void fill_empty_status(MPI_Status* status) {
  fill_status(status, MPI_ANY_SOURCE, MPI_ANY_TAG, 0);
}

}  // namespace cuco::hostlib
