// SPDX-License-Identifier: Apache-2.0
/// \file
/// How a delivery lies in host memory, for the host that writes it and the courier that reads it.
#pragma once

#include "loopback/device/kernel_args.h"

#ifdef __CUDACC__
#define CUCO_LOOPBACK_BOTH __host__ __device__ inline
#else
#define CUCO_LOOPBACK_BOTH inline
#endif

namespace cuco::loopback {

struct DecodedParcel {
  CopyJob job;
  /// Its bytes are not copied while those of another parcel are: they overlap.
  bool is_alone = false;
  std::uint64_t due = 0;  ///< It is not announced before, on the GPU's clock; 0: at once.
  /// Its payload is in as many other parcels, which count themselves. They were written before.
  std::uint32_t pieces = 0;
};

inline constexpr std::uint64_t kAloneBit = std::uint64_t{1} << 63U;

CUCO_LOOPBACK_BOTH DecodedParcel decode(const Parcel& parcel) {
  DecodedParcel result;
  result.job.source = parcel.word[0];
  result.job.destination = parcel.word[1];
  result.job.bytes = parcel.word[2] & ~kAloneBit;
  result.is_alone = (parcel.word[2] & kAloneBit) != 0;
  result.job.value = parcel.word[4];
  result.job.signal = parcel.word[5];
  result.job.signal_add = parcel.word[6];
  result.job.counter = parcel.word[8];
  result.job.credit = parcel.word[9];
  result.job.credit_value = static_cast<std::uint32_t>(parcel.word[10]);
  result.job.piece = parcel.word[14];
  result.due = parcel.word[12];
  result.pieces = static_cast<std::uint32_t>(parcel.word[13]);
  return result;
}

/// The numbers come last in every 32 bytes.
inline void write_parcel(volatile std::uint64_t* place,
                         const DecodedParcel& parcel,
                         std::uint64_t number) {
  const CopyJob& job = parcel.job;
  const std::uint64_t words[Parcel::kWords] = {
      job.source,     job.destination,  job.bytes | (parcel.is_alone ? kAloneBit : 0),
      number,         job.value,        job.signal,
      job.signal_add, number,           job.counter,
      job.credit,     job.credit_value, number,
      parcel.due,     parcel.pieces,    job.piece,
      number};
  for (int i = 0; i < Parcel::kWords; ++i)
    place[i] = words[i];
}

}  // namespace cuco::loopback
