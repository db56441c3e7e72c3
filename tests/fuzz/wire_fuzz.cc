// SPDX-License-Identifier: Apache-2.0
// Any bytes as messages to the virtual cluster: they may be refused, they may not harm it.
//
// The input is cut into frames: two bytes type, two bytes length, payload. Types are mapped onto
// the ones that exist, so that handlers are reached; the first frame is an honest hello.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "shims/wire/messages_host.h"
#include "vcluster/core/cluster.h"

namespace {

using namespace cuco;  // NOLINT(google-build-using-namespace): a fuzz target

/// A small GPU, with all that a hardware file must say.
const hardware::GpuDescription& gpu() {
  static const hardware::GpuDescription kSmall = [] {
    auto description = hardware::load_gpu_description("h200", CUCO_SOURCE_DIR);
    if (!description) std::abort();
    description->memory_bytes = std::uint64_t{1} << 30U;
    description->l2_bytes = std::uint64_t{1} << 20U;
    description->sms = 4;
    return *description;
  }();
  return kSmall;
}

std::uint16_t existing_type(std::uint16_t type) {
  // With the judge's, with NCCL's, and with those of MPI among the host's.
  constexpr std::uint16_t kSubjects[] = {0x000, 0x100, 0x200, 0x300,  0x400,  0x500,
                                         0x600, 0x700, 0x800, 0x1000, 0x2000, 0x020};
  return static_cast<std::uint16_t>(kSubjects[(type >> 8U) % 12] + type % 18);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  vcluster::ClusterOptions options;
  options.gpu = gpu();
  auto created = vcluster::Cluster::create(options);
  if (!created) return 0;
  vcluster::Cluster& cluster = **created;
  vcluster::Session& session =
      cluster.add_session([](const wire::Header&, wire::Bytes, wire::Bytes, int) {}, 1);
  wire::Frame hello;
  hello.header.type = wire::Hello::kType;
  wire::append(hello.payload, wire::Hello{});
  cluster.deliver(session, std::move(hello));
  while (size >= 4 && session.refused_because().empty()) {
    std::uint16_t type = 0;
    std::uint16_t length = 0;
    std::memcpy(&type, data, 2);
    std::memcpy(&length, data + 2, 2);
    data += 4;
    size -= 4;
    const std::size_t bytes = std::min<std::size_t>(length % 512, size);
    wire::Frame frame;
    frame.header.type = existing_type(type);
    frame.header.bytes = static_cast<std::uint32_t>(bytes);
    const auto* payload = reinterpret_cast<const std::byte*>(data);
    frame.payload.assign(payload, payload + bytes);
    data += bytes;
    size -= bytes;
    cluster.deliver(session, std::move(frame));
    for (int step = 0; step < 64 && cluster.advance(); ++step) {
    }
    if (session.state() != vcluster::Session::State::Running) break;
  }
  return 0;
}
