// SPDX-License-Identifier: Apache-2.0
#include "hardware/gpu_description.h"

#include <set>
#include <vector>

#include <fmt/format.h>

#include "base/text.h"
#include "base/toml.h"
#include "hardware/accuracy.h"
#include "system/os/files.h"

namespace cuco::hardware {

namespace {

/// Reads one table key by key; remembers the first error and which keys were asked for.
class Reader {
 public:
  Reader(const toml::table& table, std::string_view file) : table_(table), file_(file) {}

  void text(const char* section, const char* key, std::string& out) {
    const toml::node* node = find(section, key);
    if (node == nullptr) return;
    if (const auto value = node->value<std::string>(); value && node->is_string()) {
      out = *value;
    } else {
      fail(*node, section, key, "must be a string");
    }
  }

  /// A string that may be missing.
  void optional_text(const char* section, const char* key, std::string& out) {
    known_.insert(fmt::format("{}.{}", section, key));
    if (table_[section][key].node() != nullptr) text(section, key, out);
  }

  /// `scale` converts the unit of the file (KiB, GiB) to that of the description.
  template <typename T>
  void number(
      const char* section, const char* key, T& out, double scale = 1, bool may_be_zero = false) {
    const toml::node* node = find(section, key);
    if (node != nullptr) take(*node, section, key, out, scale, may_be_zero);
  }

  /// A key that may be missing: `out` stays as it is.
  template <typename T>
  void optional(const char* section, const char* key, T& out) {
    known_.insert(fmt::format("{}.{}", section, key));
    const toml::node* node = table_[section][key].node();
    if (node != nullptr) take(*node, section, key, out, 1, false);
  }
  /// After all keys were read: anything left over is a mistake.
  void refuse_unknown() {
    for (const auto& [section, node] : table_) {
      const toml::table* inner = node.as_table();
      if (inner == nullptr) {
        fail(node, "", std::string(section.str()).c_str(), "is not a table");
        continue;
      }
      for (const auto& [key, value] : *inner) {
        const std::string name = std::string(section.str()) + "." + std::string(key.str());
        if (known_.contains(name)) continue;
        // By now every key of a description has been asked for, so known_ is the whole vocabulary.
        const std::vector<std::string> names(known_.begin(), known_.end());
        const auto meant = nearest(name, names);
        fail(value, std::string(section.str()).c_str(), std::string(key.str()).c_str(),
             meant ? fmt::format("is unknown (did you mean {})", *meant) : "is unknown");
      }
    }
  }

  [[nodiscard]] const std::optional<Error>& error() const { return error_; }

 private:
  template <typename T>
  void take(const toml::node& node,
            const char* section,
            const char* key,
            T& out,
            double scale,
            bool may_be_zero) {
    if (!node.is_number()) {
      fail(node, section, key, "must be a number");
      return;
    }
    const double value = *node.value<double>() * scale;
    if (value < 0 || (value == 0 && !may_be_zero)) {
      fail(node, section, key, "must be above 0");
    } else if (value > 1e18 || (sizeof(T) == 4 && value > 4e9)) {
      fail(node, section, key, "is too large");
    } else {
      out = static_cast<T>(value);
    }
  }

  const toml::node* find(const char* section, const char* key) {
    known_.insert(fmt::format("{}.{}", section, key));
    const toml::node* node = table_[section][key].node();
    if (node == nullptr && !error_) {
      error_ = Error(ErrorKind::InvalidInput,
                     fmt::format("{}: key {}.{} is missing", file_, section, key));
    }
    return node;
  }

  void fail(const toml::node& node, const char* section, const char* key, std::string_view why) {
    if (error_) return;
    error_ = Error(
        ErrorKind::InvalidInput,
        fmt::format("{}:{}: key {}.{} {}", file_, node.source().begin.line, section, key, why));
  }

  const toml::table& table_;
  std::string_view file_;
  std::set<std::string> known_;
  std::optional<Error> error_;
};

void read_limits(Reader& in, GpuDescription& gpu) {
  in.text("gpu", "name", gpu.name);
  in.optional_text("gpu", "calibration", gpu.calibration);
  in.number("gpu", "compute_major", gpu.compute_major);
  in.number("gpu", "compute_minor", gpu.compute_minor, 1, true);
  in.number("gpu", "memory_gib", gpu.memory_bytes, 1024.0 * 1024 * 1024);
  in.number("gpu", "sms", gpu.sms);
  in.number("gpu", "clock_ghz", gpu.clock_ghz);
  in.number("sm", "registers", gpu.registers_per_sm);
  in.number("sm", "registers_per_block", gpu.registers_per_block);
  in.number("sm", "shared_kib", gpu.shared_per_sm, 1024);
  in.number("sm", "shared_per_block_kib", gpu.shared_per_block, 1024);
  in.number("sm", "shared_per_block_optin_kib", gpu.shared_per_block_optin, 1024);
  in.number("sm", "shared_reserved_kib", gpu.shared_reserved, 1024);
  in.number("sm", "threads", gpu.threads_per_sm);
  in.number("sm", "threads_per_block", gpu.threads_per_block);
  in.number("sm", "blocks", gpu.blocks_per_sm);
  in.number("sm", "schedulers", gpu.schedulers);
  in.number("sm", "l1_kib", gpu.l1_bytes, 1024);
}

void read_memory(Reader& in, GpuDescription& gpu) {
  in.number("memory", "l2_mib", gpu.l2_bytes, 1024.0 * 1024);
  in.number("memory", "hbm_gb_per_s", gpu.hbm_gbs);
  in.number("memory", "l2_gb_per_s", gpu.l2_gbs);
  in.number("memory", "l2_write_gb_per_s", gpu.l2_write_gbs);
  in.number("memory", "l2_parts_giga_per_s", gpu.l2_part_gops);
  in.number("memory", "l2_reach_mib", gpu.l2_reach, 1024.0 * 1024);
  in.number("memory", "hbm_granule", gpu.hbm_granule);
  in.number("memory", "shared_bytes_per_cycle", gpu.shared_bytes_per_cycle);
  in.number("memory", "bus_bits", gpu.memory_bus_bits);
  in.number("memory", "clock_ghz", gpu.memory_clock_ghz);
}

void read_costs(Reader& in, GpuDescription& gpu) {
  in.number("latency_cycles", "alu", gpu.alu_latency);
  in.number("latency_cycles", "double", gpu.double_latency);
  in.number("latency_cycles", "special", gpu.special_latency);
  in.number("latency_cycles", "shared", gpu.shared_latency);
  in.number("latency_cycles", "l1", gpu.l1_latency);
  in.number("latency_cycles", "l2", gpu.l2_latency);
  in.number("latency_cycles", "hbm", gpu.hbm_latency);
  in.number("latency_cycles", "atomic", gpu.atomic_latency);
  in.number("latency_cycles", "barrier", gpu.barrier_latency);
  in.number("latency_cycles", "tensor", gpu.tensor_latency);
  in.number("latency_cycles", "fence_cta", gpu.fence_cta);
  in.number("latency_cycles", "fence_gpu", gpu.fence_gpu);
  in.number("latency_cycles", "fence_sys", gpu.fence_sys);
  in.number("atomics", "word_ns", gpu.atomic_word_ns);
  in.number("atomics", "float_word_ns", gpu.atomic_float_word_ns);
  in.number("atomics", "clash_ns", gpu.atomic_clash_ns);
  in.number("lanes_per_cycle", "float", gpu.float_lanes);
  in.number("lanes_per_cycle", "integer", gpu.integer_lanes);
  in.number("lanes_per_cycle", "double", gpu.double_lanes);
  in.number("lanes_per_cycle", "special", gpu.special_lanes);
  in.number("lanes_per_cycle", "convert", gpu.convert_lanes);
  in.number("lanes_per_cycle", "atomic", gpu.atomic_lanes);
  in.number("tensor_tera_per_s", "f16", gpu.tensor_f16_tflops);
  in.number("tensor_tera_per_s", "tf32", gpu.tensor_tf32_tflops);
  in.number("tensor_tera_per_s", "f64", gpu.tensor_f64_tflops);
  in.number("tensor_tera_per_s", "s8", gpu.tensor_s8_tops);
  in.number("tensor_tera_per_s", "f8", gpu.tensor_f8_tflops);
  in.number("launch", "start_us", gpu.launch_us);
  in.number("launch", "gap_us", gpu.gap_us);
  in.number("launch", "graph_gap_us", gpu.graph_gap_us);
  in.number("launch", "host_us", gpu.host_launch_us);
  in.number("launch", "block_start_cycles", gpu.block_start_cycles);
  in.number("launch", "block_ns", gpu.block_ns);
}

void read_nccl(Reader& in, NcclCosts& nccl) {
  in.optional("nccl", "group_us", nccl.group_us);
  in.optional("nccl", "launch_us", nccl.launch_us);
  in.optional("nccl", "ring_share", nccl.ring_share);
  in.optional("nccl", "ll_share", nccl.ll_share);
  in.optional("nccl", "nvls_share", nccl.nvls_share);
  in.optional("nccl", "direct_share", nccl.direct_share);
  in.optional("nccl", "channel_share", nccl.channel_share);
  in.optional("nccl", "ring_channels", nccl.ring_channels);
  in.optional("nccl", "nvls_channels", nccl.nvls_channels);
  in.optional("nccl", "direct_channels", nccl.direct_channels);
}

Accuracy read_accuracy(Reader& in) {
  Accuracy accuracy;
  in.optional("accuracy", "kernels", accuracy.kernels);
  in.optional("accuracy", "kernels_within", accuracy.kernels_within);
  in.optional("accuracy", "collectives", accuracy.collectives);
  in.optional("accuracy", "collectives_within", accuracy.collectives_within);
  return accuracy;
}

}  // namespace

Result<GpuDescription> parse_gpu_description(std::string_view text, std::string_view file) {
  CUCO_TRY_ASSIGN(const toml::table table, parse_toml(text, file));
  GpuDescription gpu;
  Reader in(table, file);
  read_limits(in, gpu);
  read_memory(in, gpu);
  read_costs(in, gpu);
  read_nccl(in, gpu.nccl);
  read_accuracy(in);
  gpu.nccl.gap_us = gpu.gap_us;
  gpu.nccl.graph_gap_us = gpu.graph_gap_us;
  in.refuse_unknown();
  if (in.error()) return *in.error();
  gpu.key = std::filesystem::path(file).stem().string();
  return gpu;
}

Result<Accuracy> parse_accuracy(std::string_view text, std::string_view file) {
  CUCO_TRY_ASSIGN(const toml::table table, parse_toml(text, file));
  Reader in(table, file);
  const Accuracy accuracy = read_accuracy(in);
  if (in.error()) return *in.error();
  return accuracy;
}

Result<GpuDescription> load_gpu_description(std::string_view name,
                                            const std::filesystem::path& root) {
  const bool is_path = name.find('/') != std::string_view::npos || name.ends_with(".toml");
  const std::filesystem::path path =
      is_path ? std::filesystem::path(name) : root / "hardware" / (std::string(name) + ".toml");
  const auto text = system::read_file(path);
  if (!text) {
    return Error(ErrorKind::NotFound,
                 fmt::format("hardware description '{}' not found: {}", name, path.string()));
  }
  return parse_gpu_description(*text, path.string());
}

}  // namespace cuco::hardware
