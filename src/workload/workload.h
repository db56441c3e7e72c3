// SPDX-License-Identifier: Apache-2.0
/// \file
/// A workload folder as a value: what workload.toml says, checked.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "hardware/scale_model.h"
#include "measure/speed_of_light.h"
#include "system/os/files.h"
#include "workload/formula.h"

namespace cuco::workload {

enum class Element { Fp32, Bf16, Int32 };  ///< Int32: inputs only (indices).
[[nodiscard]] std::size_t bytes_of(Element element);
[[nodiscard]] std::string_view name_of(Element element);
[[nodiscard]] Result<Element> parse_element(std::string_view name);

/// An input or output; size and type depend on the shape.
struct BufferRule {
  std::string name;
  std::string elements;
  std::string type;
};

/// |got - want| <= relative * |want| + scaled * scale.
struct Tolerance {
  double relative = 0;
  double scaled = 0;
};

enum class Use { Check, Hidden, Near, Time, Full };  ///< Near: beside a timed one, only drawn.

struct Shape {
  std::string name;
  std::set<Use> uses;
  std::vector<long long> params;   ///< In the workload's order.
  hardware::Divisor divisor = {};  ///< Tried on a scale model of the machine; see shrink.h.
};

/// What a program must handle of one parameter: from, from + step, … up to `to`; or these values.
struct Range {
  long long from = 1;
  long long to = 1;
  long long step = 1;
  std::vector<long long> values;
};

/// How many shapes are drawn from the ranges; see draw.h.
struct Draws {
  int check = 2;
  int hidden = 2;
  /// A formula that is above 0 for shapes that there are: "experts - top + 1". Empty: all are.
  std::string positive;
};

/// A buffer of one shape.
struct Buffer {
  std::string name;
  std::size_t elements = 0;
  Element type = Element::Fp32;
  [[nodiscard]] std::size_t bytes() const { return elements * bytes_of(type); }
};

struct Budget {
  double setup_seconds = 60;
  double run_seconds = 60;
  double host_seconds = 0.5;       ///< Of host CPU time inside one cuco_run, all ranks together.
  std::int64_t host_bytes = 4096;  ///< That one rank may copy to the host in one cuco_run.
  int iterations = 3;
  int sets = 3;
};

struct Workload {
  system::Path folder;
  std::string name;
  std::string summary;
  int ranks = 1;
  std::string topology;
  std::vector<std::string> params;
  std::vector<BufferRule> inputs;
  std::vector<BufferRule> outputs;
  std::map<Element, Tolerance> tolerance;
  std::vector<Range> ranges;  ///< By parameter; empty: only the listed shapes are tried.
  Draws draws;
  /// By parameter: the step in which it may shrink in a scale model, 0: it stays. Empty: full
  /// shapes are not timed.
  std::vector<long long> scale;
  std::vector<Shape> shapes;
  std::map<std::string, std::string> baselines;  ///< Name -> file, besides program.cu.
  std::string flops;
  std::string flops_type;
  std::string hbm_bytes;
  std::string wire_bytes;
  Budget budget;
  std::string program;  ///< Text of program.cu.

  [[nodiscard]] Variables variables(const Shape& shape) const;
  [[nodiscard]] Result<std::vector<Buffer>> buffers(const std::vector<BufferRule>& rules,
                                                    const Shape& shape) const;
  [[nodiscard]] Result<measure::Demand> demand(const Shape& shape) const;
  [[nodiscard]] std::vector<const Shape*> shapes_for(Use use) const;
};

/// Reads the folder. The error names everything that is wrong with it, one line each: file, line
/// and key; for unknown names the nearest known one.
[[nodiscard]] Result<Workload> load_workload(const system::Path& folder);
[[nodiscard]] Result<Workload> parse_workload(std::string_view text, std::string_view file);

}  // namespace cuco::workload
