// SPDX-License-Identifier: Apache-2.0
#include "loopback/nccl/courier.h"

#include <algorithm>
#include <chrono>
#include <cstdio>

#include "loopback/gpu/divided_gpu.h"

namespace cuco::loopback {
namespace {

// Long against a launch, short against what waits for all kernels of the GPU.
constexpr std::uint64_t kStay = 1'000'000;
constexpr Nanoseconds kPatience = 50'000'000;
/// One runs, the next one is there when it ends.
constexpr std::uint64_t kTurnsAhead = 2;
constexpr unsigned kThreads = 256;
constexpr std::uint64_t kBytesPerBlock = std::uint64_t{32} << 10U;

volatile std::uint64_t* host_words(std::uint64_t count) {
  return static_cast<volatile std::uint64_t*>(
      Machine::get().host_bytes(count * sizeof(std::uint64_t)));
}

Address address_of(volatile std::uint64_t* words) {
  return reinterpret_cast<Address>(words);
}

bool overlap(Address a, std::uint64_t a_bytes, Address b, std::uint64_t b_bytes) {
  return a < b + b_bytes && b < a + a_bytes;
}

}  // namespace

Nanoseconds now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

Courier::Courier() {
  Machine& machine = Machine::get();
  stream_ = machine.network_stream();
  for (Stream& one : streams_) {
    one.stream = machine.network_stream();
    one.ticket = machine.device_bytes(sizeof(std::uint32_t));
  }
  parcels_ = host_words(std::uint64_t{kLanes} * kParcels * Parcel::kWords);
  receipts_ = reinterpret_cast<volatile Receipt*>(
      host_words(std::uint64_t{kLanes} * kParcels * sizeof(Receipt) / sizeof(std::uint64_t)));
  copied_ = host_words(kStreams);
  beat_ = host_words(1);
  ended_ = host_words(1);
  pieces_ = machine.device_bytes(std::uint64_t{kLanes} * kParcels * sizeof(std::uint32_t));
  next_ = machine.device_bytes(kLanes * sizeof(std::uint64_t));
}

bool Courier::overlaps(const Lane& lane, const CopyJob& job) const {
  return std::any_of(lane.last.begin(), lane.last.end(), [&](const Lane::Range& range) {
    return overlap(range.begin, range.bytes, job.destination, job.bytes) ||
           (job.source != 0 && overlap(range.begin, range.bytes, job.source, job.bytes));
  });
}

std::uint64_t Courier::write(std::size_t index, const DecodedParcel& parcel, Nanoseconds now) {
  Lane& lane = lanes_[index];
  // The kernel may be about to end: the next one has to be there.
  while (lane.sent >= kParcels && !is_delivered(index, lane.sent + 1 - kParcels) && !has_failed_)
    tend(now);
  const std::uint64_t number = ++lane.sent;
  lane.last[number % lane.last.size()] = {parcel.job.destination, parcel.job.bytes};
  write_parcel(parcels_ + (index * kParcels + number % kParcels) * Parcel::kWords, parcel, number);
  return number;
}

// Blocks of other lanes copy a piece each. No block waits for what is written later than its own
// parcel, so they never wait for each other in a circle.
std::uint32_t Courier::divide(std::size_t index, const CopyJob& job, Nanoseconds now) {
  const std::uint64_t number = lanes_[index].sent + 1;
  const Address counter = pieces_ + (index * kParcels + number % kParcels) * sizeof(std::uint32_t);
  std::uint32_t pieces = 0;
  for (std::uint64_t at = 0; at < job.bytes; at += kPiece, ++pieces) {
    DecodedParcel piece;
    piece.job.source = job.source + at;
    piece.job.destination = job.destination + at;
    piece.job.bytes = std::min(kPiece, job.bytes - at);
    piece.job.piece = counter;
    write((index + 1 + pieces % (kLanes - 1)) % kLanes, piece, now);
  }
  return pieces;
}

std::uint64_t Courier::deliver(std::size_t index,
                               const CopyJob& job,
                               Nanoseconds now,
                               Nanoseconds due) {
  if (now - last_delivery_ > kPatience) clock_.forget();
  last_delivery_ = now;
  DecodedParcel parcel{job, overlaps(lanes_[index], job), due == 0 ? 0 : clock_.device_at(due)};
  if (job.source != 0 && job.bytes > kPiece && !parcel.is_alone) {
    parcel.pieces = divide(index, job, now);
    parcel.job.source = parcel.job.destination = parcel.job.bytes = 0;
  }
  return write(index, parcel, now);
}

const volatile Receipt& Courier::receipt(std::size_t lane, std::uint64_t number) const {
  return receipts_[lane * kParcels + number % kParcels];
}

bool Courier::is_delivered(std::size_t lane, std::uint64_t number) const {
  return receipt(lane, number).number >= number;
}

Nanoseconds Courier::time_of(std::size_t lane, std::uint64_t number, Nanoseconds now) const {
  const volatile Receipt& found = receipt(lane, number);
  return found.number == number ? clock_.host_at(found.time).value_or(now) : now;
}

std::uint64_t Courier::copy(std::size_t index,
                            Address source,
                            Address destination,
                            std::uint64_t bytes) {
  Stream& one = streams_[index % kStreams];
  const auto most = static_cast<std::uint64_t>(Machine::get().network().sms) * 2;
  const auto blocks =
      static_cast<unsigned>(std::clamp<std::uint64_t>(bytes / kBytesPerBlock, 1, most));
  CopyArgs args{source,      destination, bytes, one.ticket, address_of(copied_ + index % kStreams),
                ++one.copies};
  check(Machine::get().launch(Machine::get().copy_kernel(), blocks, 512, one.stream, &args));
  return one.copies;
}

bool Courier::is_copied(std::size_t lane, std::uint64_t number) const {
  return copied_[lane % kStreams] >= number;
}

void Courier::tend(Nanoseconds now) {
  // Looked at before the host's clock: a pause in between must not make the GPU's seem fast.
  if (const std::uint64_t beat = *beat_; beat != 0) clock_.saw(now_ns(), beat);
  if (last_delivery_ == 0 || now - last_delivery_ > kPatience) return;
  if (turns_ - *ended_ >= kTurnsAhead || has_failed_) return;
  CourierArgs args;
  args.parcels = address_of(parcels_);
  args.next = next_;
  args.pieces = pieces_;
  args.receipts = reinterpret_cast<Address>(receipts_);
  args.beat = address_of(beat_);
  args.ended = address_of(ended_);
  args.turn = ++turns_;
  args.nanoseconds = kStay;
  check(Machine::get().launch(Machine::get().courier_kernel(), kLanes, kThreads, stream_, &args));
}

std::vector<std::string> Courier::describe() const {
  std::vector<std::string> lines;
  for (std::size_t lane = 0; lane < lanes_.size(); ++lane) {
    const std::uint64_t sent = lanes_[lane].sent;
    std::uint64_t waiting = 0;
    while (waiting < std::min<std::uint64_t>(sent, kParcels) && !is_delivered(lane, sent - waiting))
      ++waiting;
    if (waiting == 0) continue;
    lines.push_back("lane " + std::to_string(lane) + " of the network has not taken " +
                    std::to_string(waiting) + " of " + std::to_string(sent) + " deliveries");
  }
  for (std::size_t i = 0; i < streams_.size(); ++i) {
    if (streams_[i].copies == copied_[i]) continue;
    lines.push_back("payloads: " + std::to_string(copied_[i]) + " of " +
                    std::to_string(streams_[i].copies) + " are copied in stream " +
                    std::to_string(i) + " of the network");
  }
  if (turns_ != *ended_) {
    lines.push_back("the courier was launched " + std::to_string(turns_) + " times and ended " +
                    std::to_string(*ended_) + " times");
  }
  return lines;
}

void Courier::check(CUresult result) {
  if (result == CUDA_SUCCESS || has_failed_) return;
  has_failed_ = true;
  std::fprintf(stderr, "cuco loopback: the network stops: %s\n", text_of(result));
}

}  // namespace cuco::loopback
