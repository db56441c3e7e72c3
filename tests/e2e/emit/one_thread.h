// SPDX-License-Identifier: Apache-2.0
/// \file
/// A program in which one thread drives all GPUs.
#pragma once

#include <string>

namespace cuco::test {

[[nodiscard]] std::string one_thread_program();

}  // namespace cuco::test
