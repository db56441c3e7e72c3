// SPDX-License-Identifier: Apache-2.0
/// \file
/// Ends a program that makes no progress, and says who waits for what; and the report at the end.
#pragma once

namespace cuco::loopback {

/// Started with the first communicator.
void start_watchdog();

/// Something happened that is not a kernel, a copy or a delivery.
void note_progress();

}  // namespace cuco::loopback
