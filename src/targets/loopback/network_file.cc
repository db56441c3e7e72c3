// SPDX-License-Identifier: Apache-2.0
#include "targets/loopback/network_file.h"

#include <cmath>
#include <string_view>

#include <fmt/format.h>

namespace cuco::targets {
namespace {

std::string_view word_of(fabric::LoadStoreDomain domain) {
  switch (domain) {
    case fabric::LoadStoreDomain::Gpu:
      return "gpu";
    case fabric::LoadStoreDomain::Node:
      return "node";
    case fabric::LoadStoreDomain::World:
      return "world";
  }
  return "";
}

std::string link_lines(std::string_view name, const fabric::Link& link) {
  return fmt::format("{0}_bytes_per_s={1}\n{0}_latency_ps={2}\n", name,
                     std::llround(link.rate() * 1e9), link.latency);
}

}  // namespace

std::string network_text(const fabric::Topology& topology) {
  std::string text = fmt::format("name={}\nnodes={}\ngpus_per_node={}\ndomain={}\n", topology.name,
                                 topology.nodes, topology.gpus_per_node, word_of(topology.domain));
  text += link_lines("load_store", topology.load_store);
  text += fmt::format("nic={}\n", topology.nic ? 1 : 0);
  if (topology.nic) {
    text += link_lines("nic", *topology.nic);
    text += fmt::format("nic_gap_ps={}\ngin_post_ps={}\n", topology.nic->message_gap,
                        topology.gin.post);
  }
  return text + link_lines("host", topology.host);
}

}  // namespace cuco::targets
