// SPDX-License-Identifier: Apache-2.0
#include "judge/real_place.h"

#include <fmt/format.h>

#include "targets/gpu/gpu_target.h"

namespace cuco::judge {

using candidate::TargetKind;

Result<void> check_real_work(const RealWork& work) {
  switch (work.on) {
    case TargetKind::Virtual:
      return {};
    case TargetKind::Gpu:
      if (work.ranks == 1) return {};
      return Error{ErrorKind::InvalidInput,
                   fmt::format("{} has {} ranks: --on gpu judges workloads of one rank; use --on "
                               "virtual",
                               work.name, work.ranks)};
    case TargetKind::Loopback:
      if (work.ranks == 1) {
        return Error{ErrorKind::Unavailable,
                     fmt::format("--on loopback is for several ranks, and {} has one; use --on gpu",
                                 work.name)};
      }
      return Error{
          ErrorKind::Unavailable,
          fmt::format("--on loopback: candidates are not judged there yet: the judge's own process "
                      "can own buffers and clock of one rank only, and {} has {}; use --on virtual",
                      work.name, work.ranks)};
    case TargetKind::Cluster:
      return Error{
          ErrorKind::Unavailable,
          "--on cluster: candidates are not judged there, because nothing of ours runs on "
          "its hosts that could own buffers and clock; use --on virtual to judge, and cuco "
          "run --on cluster to time a program of your own"};
  }
  return {};
}

Result<system::Fd> lock_gpu(const system::Path& cache) {
  CUCO_TRY(system::make_folder(cache));
  const system::Path file = cache / "gpu.lock";
  auto lock = system::lock_file(file);
  if (lock || lock.error().kind() != ErrorKind::Unavailable) return lock;
  return Error{
      ErrorKind::Unavailable,
      fmt::format("another cuco measures on this GPU (it holds {}): one at a time, or they "
                  "measure each other",
                  file.string())};
}

Result<RealPlace> claim_real_gpu(const RealWork& work, const system::Path& cache) {
  CUCO_TRY(check_real_work(work));
  RealPlace place;
  CUCO_TRY_ASSIGN(place.gpu, targets::probe_gpu());
  CUCO_TRY_ASSIGN(place.lock, lock_gpu(cache));
  return place;
}

}  // namespace cuco::judge
