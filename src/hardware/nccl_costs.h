// SPDX-License-Identifier: Apache-2.0
/// \file
/// What NCCL's collectives cost on a generation of GPUs: table [nccl] of hardware/*.toml.
#pragma once

#include <cmath>

namespace cuco::hardware {

/// Shares are of the bandwidth of one GPU's port, so that they hold for a port of any width. The
/// defaults are Hopper's.
struct NcclCosts {
  // Of the host thread that calls.
  double group_us = 2.4;   ///< A group of calls; one call alone is a group…
  double launch_us = 4.4;  ///< …and each GPU that the group launches a kernel on.
  // Between a collective's kernel and the one before it, as for any kernel.
  double gap_us = 1.35;
  double graph_gap_us = 0.65;
  // What a protocol gets of a port once its pipeline is full.
  double ring_share = 0.81;      ///< Simple; LL128 gets 0.92 of that.
  double ll_share = 0.327;       ///< LL sends a flag with every word.
  double nvls_share = 0.686;     ///< Reduced and multicast by the switch.
  double direct_share = 0.70;    ///< Sends, receives, all-to-all.
  double channel_share = 0.055;  ///< Of these, one channel.
  // One channel is one block, and has an SM to itself.
  int ring_channels = 24;
  int nvls_channels = 16;
  int direct_channels = 32;
  // Not of a file: in a scale model a byte stands for so many, and so does an SM.
  double bytes_scale = 1;
  double sms_scale = 1;
  /// SMs that so many channels take from others.
  [[nodiscard]] int sms_of(int channels) const {
    return static_cast<int>(std::lround(channels / sms_scale));
  }
};

}  // namespace cuco::hardware
