// SPDX-License-Identifier: Apache-2.0
/// \file
/// The CUDA toolkit of this machine, found in one way for everybody who needs a part of it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "system/os/environment.h"
#include "system/os/files.h"

namespace cuco::toolchain {

struct CudaToolkit {
  system::Path root;
  /// Folder of nccl.h: $NCCL_HOME/include, the toolkit's or the system's; absent: no NCCL.
  std::optional<system::Path> nccl_include;

  [[nodiscard]] system::Path nvcc() const { return root / "bin/nvcc"; }
  [[nodiscard]] system::Path programs() const { return root / "bin"; }
  [[nodiscard]] system::Path include() const { return root / "include"; }
  [[nodiscard]] system::Path libraries() const { return root / "lib64"; }
  /// libnvrtc.so; absent: device code is compiled by nvcc alone.
  [[nodiscard]] std::optional<system::Path> nvrtc() const;

  /// What a compiler has to be given to find NCCL: nothing where it searches anyway.
  [[nodiscard]] std::vector<std::string> nccl_flags() const;
  /// Folders that a sandbox does not show by itself.
  [[nodiscard]] std::vector<system::Path> outside_system() const;
};

/// $CUDA_HOME, $CUDA_PATH, the toolkit of nvcc in $PATH (or that which a script there calls), then
/// `usual`/cuda and the newest `usual`/cuda-*. A variable that names a folder without nvcc is an
/// error: it is never ignored.
[[nodiscard]] Result<CudaToolkit> find_cuda(const system::Environment& environment,
                                            const system::Path& usual = "/usr/local");

}  // namespace cuco::toolchain
