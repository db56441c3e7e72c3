// SPDX-License-Identifier: Apache-2.0
/// \file
/// A host thread without a process or a socket: it hands messages to a cluster and lets it run.
#pragma once

#include <cstring>
#include <memory>
#include <optional>
#include <vector>

#include <gtest/gtest.h>

#include "shims/wire/messages_host.h"
#include "shims/wire/status.h"
#include "vcluster/core/cluster.h"

namespace cuco::vcluster {

inline hardware::GpuDescription small_gpu() {
  auto gpu = hardware::load_gpu_description(CUCO_SOURCE_DIR "/hardware/h200.toml", {});
  return gpu ? *gpu : hardware::GpuDescription{};
}

inline std::unique_ptr<Cluster> make_cluster(int devices = 1) {
  ClusterOptions options;
  options.gpu = small_gpu();
  options.topology = fabric::single_node(devices);
  auto cluster = Cluster::create(options);
  EXPECT_TRUE(cluster.has_value());
  return *std::move(cluster);
}

class FakeClient {
 public:
  explicit FakeClient(Cluster& cluster,
                      std::uint32_t pid = 100,
                      std::uint32_t role = wire::Hello::kThread)
      : cluster_(cluster) {
    session_ = &cluster.add_session(
        [this](const wire::Header& header, wire::Bytes head, wire::Bytes tail, int) {
          header_ = header;
          reply_.assign(head.begin(), head.end());
          reply_.insert(reply_.end(), tail.begin(), tail.end());
        },
        0);
    send(wire::Hello{.pid = pid, .role = role});
  }

  template <typename Request>
  void send(const Request& request, wire::Bytes tail = {}) {
    wire::Frame frame;
    frame.header.type = Request::kType;
    if constexpr (wire::kWireSize<Request> != 0) wire::append(frame.payload, request);
    frame.payload.insert(frame.payload.end(), tail.begin(), tail.end());
    frame.header.bytes = static_cast<std::uint32_t>(frame.payload.size());
    header_.reset();
    cluster_.deliver(*session_, std::move(frame));
  }

  /// Has the last request been answered?
  [[nodiscard]] bool answered() const { return header_.has_value(); }
  [[nodiscard]] std::int32_t status() const { return header_ ? header_->status : -1; }
  [[nodiscard]] VTime clock() const { return header_ ? header_->clock : -1; }

  /// Sends and lets the cluster run until the answer is there or nothing moves.
  template <typename Request>
  std::int32_t call(const Request& request,
                    typename Request::Reply* reply = nullptr,
                    wire::Bytes tail = {}) {
    send(request, tail);
    while (!answered() && cluster_.advance()) {
    }
    if (reply != nullptr) {
      const auto value = wire::read_front<typename Request::Reply>(reply_);
      if (value) *reply = *value;
    }
    return status();
  }

  [[nodiscard]] Session& session() { return *session_; }

 private:
  Cluster& cluster_;
  Session* session_ = nullptr;
  std::optional<wire::Header> header_;
  std::vector<std::byte> reply_;
};

}  // namespace cuco::vcluster
