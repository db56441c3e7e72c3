// SPDX-License-Identifier: Apache-2.0
/// \file
/// Kernel launches: arguments as the kernel wants them, and the message.
#pragma once

#include <cstddef>
#include <vector>

#include "shims/cudart/abi.h"
#include "shims/cudart/registry.h"
#include "shims/wire/messages_module.h"

namespace cuco::cudart {

struct LaunchOptions {
  Dim3 grid;
  Dim3 block;
  Dim3 cluster{0, 0, 0};
  bool cooperative = false;
  bool begins_early = false;  ///< It may begin before what is before it in its stream has ended.
  std::size_t dynamic_smem = 0;
  StreamHandle stream = nullptr;
};

[[nodiscard]] Error launch(const void* function, const LaunchOptions& options, void** arguments);

/// Copies the arguments to where the (loaded) kernel's parameters lie.
[[nodiscard]] Error pack_arguments(const Kernel& kernel,
                                   void** arguments,
                                   std::vector<std::byte>* packed);
[[nodiscard]] wire::Launch launch_message(const Kernel& kernel, const LaunchOptions& options);

}  // namespace cuco::cudart
