// SPDX-License-Identifier: Apache-2.0
// Loopback's courier on a GPU, virtual or real: payloads in pieces of several lanes, an inline value,
// signals, counters, credits and receipts. What the host does here is what Courier does.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <vector>

#include "loopback/device/kernels.cu"

#define OK(call)                                                                  \
  do {                                                                            \
    const cudaError_t result = call;                                              \
    if (result != cudaSuccess) {                                                  \
      std::printf("line %d: %s\n", __LINE__, cudaGetErrorString(result));         \
      return 1;                                                                   \
    }                                                                             \
  } while (0)

namespace {

constexpr std::size_t kPut = 128 << 10, kPiece = 32 << 10, kPuts = 6;
constexpr unsigned kLane = 3;
constexpr std::uint64_t kValue = 0x1122334455667788;

Parcel* parcels = nullptr;
std::uint64_t sent[kLanes] = {};

void write(unsigned lane, const DecodedParcel& parcel) {
  const std::uint64_t number = ++sent[lane];
  write_parcel(parcels[lane * kParcels + number % kParcels].word, parcel, number);
}

template <typename T>
Address address(T* pointer) {
  return reinterpret_cast<Address>(pointer);
}

}  // namespace

int main() {
  Receipt* receipts;
  std::uint64_t* words;
  OK(cudaMallocHost(&parcels, sizeof(Parcel) * kLanes * kParcels));
  OK(cudaMallocHost(&receipts, sizeof(Receipt) * kLanes * kParcels));
  OK(cudaMallocHost(&words, 256));
  std::memset(parcels, 0, sizeof(Parcel) * kLanes * kParcels);
  std::memset(receipts, 0, sizeof(Receipt) * kLanes * kParcels);
  std::memset(words, 0, 256);
  std::vector<unsigned char> data(kPut * kPuts), got(data.size());
  for (std::size_t i = 0; i < data.size(); ++i)
    data[i] = static_cast<unsigned char>(i * 7 + i / 1000);
  unsigned char *source, *target;
  std::uint64_t *seen, *next;  // seen: signal, counter, value, credit
  std::uint32_t* pieces;
  OK(cudaMalloc(&source, data.size()));
  OK(cudaMalloc(&target, data.size()));
  OK(cudaMalloc(&seen, 32));
  OK(cudaMalloc(&next, 8 * kLanes));
  OK(cudaMalloc(&pieces, 4 * kLanes * kParcels));
  OK(cudaMemcpy(source, data.data(), data.size(), cudaMemcpyHostToDevice));
  OK(cudaMemset(target, 0, data.size()));
  OK(cudaMemset(seen, 0, 32));
  OK(cudaMemset(next, 0, 8 * kLanes));
  OK(cudaMemset(pieces, 0, 4 * kLanes * kParcels));

  for (std::size_t k = 0; k < kPuts; ++k) {
    DecodedParcel whole;
    for (std::size_t at = 0; at < kPut; at += kPiece, ++whole.pieces) {
      DecodedParcel piece;
      piece.job.source = address(source + k * kPut + at);
      piece.job.destination = address(target + k * kPut + at);
      piece.job.bytes = kPiece;
      piece.job.piece = address(pieces + kLane * kParcels + (sent[kLane] + 1) % kParcels);
      write((kLane + 1 + whole.pieces) % kLanes, piece);
    }
    whole.job.signal = address(seen);
    whole.job.signal_add = 1;
    whole.job.credit = address(seen + 3);
    whole.job.credit_value = static_cast<std::uint32_t>(k + 1);
    write(kLane, whole);
  }
  DecodedParcel value;
  value.job.destination = address(seen + 2);
  value.job.bytes = 8;
  value.job.value = kValue;
  value.job.counter = address(seen + 1);
  value.is_alone = true;
  write(kLane, value);

  // Each ends after a while; the next one goes on.
  for (std::uint64_t turn = 1; turn <= 2; ++turn) {
    CourierArgs args;
    args.parcels = address(parcels);
    args.pieces = address(pieces);
    args.next = address(next);
    args.receipts = address(receipts);
    args.beat = address(words);
    args.ended = address(words + 16);
    args.turn = turn;
    args.nanoseconds = 30'000;
    cuco_loopback_courier<<<kLanes, 256>>>(args);
    OK(cudaGetLastError());
    OK(cudaDeviceSynchronize());
    if (words[16] != turn || words[0] == 0) return std::puts("it does not tell how it goes"), 1;
  }
  for (std::size_t number = 1; number <= kPuts + 1; ++number) {
    const Receipt& receipt = receipts[kLane * kParcels + number];
    if (receipt.number != number || receipt.time == 0)
      return std::printf("no receipt for %zu\n", number), 1;
  }
  std::uint64_t end[4];
  std::vector<std::uint32_t> left(kLanes * kParcels);
  OK(cudaMemcpy(got.data(), target, got.size(), cudaMemcpyDeviceToHost));
  OK(cudaMemcpy(end, seen, sizeof end, cudaMemcpyDeviceToHost));
  OK(cudaMemcpy(left.data(), pieces, 4 * left.size(), cudaMemcpyDeviceToHost));
  const bool right = got == data && end[0] == kPuts && end[1] == 1 && end[2] == kValue &&
                     end[3] == kPuts && std::count(left.begin(), left.end(), 0U) == kLanes * kParcels;
  for (void* memory : {static_cast<void*>(source), static_cast<void*>(target),
                       static_cast<void*>(seen), static_cast<void*>(next),
                       static_cast<void*>(pieces)})
    OK(cudaFree(memory));
  for (void* memory : {static_cast<void*>(parcels), static_cast<void*>(receipts),
                       static_cast<void*>(words)})
    OK(cudaFreeHost(memory));
  std::puts(right ? "the courier: ok" : "the courier: wrong");
  return right ? 0 : 1;
}
