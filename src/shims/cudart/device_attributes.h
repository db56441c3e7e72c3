// SPDX-License-Identifier: Apache-2.0
/// \file
/// A device's description in CUDA's terms.
#pragma once

#include <optional>

#include "shims/cudart/abi.h"
#include "shims/wire/messages_device.h"

namespace cuco::cudart {

[[nodiscard]] DeviceProperties properties_of(const wire::DeviceInfo& info);

/// The value of a cudaDeviceAttr; nullopt: there is no such attribute.
[[nodiscard]] std::optional<int> attribute_of(const wire::DeviceInfo& info, int attribute);

}  // namespace cuco::cudart
