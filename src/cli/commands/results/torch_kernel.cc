// SPDX-License-Identifier: Apache-2.0
#include "cli/commands/results/torch_kernel.h"

#include <algorithm>

#include <fmt/format.h>

namespace cuco::cli {
namespace {

std::vector<report::TorchKernel::Buffer> buffers_of(
    const std::vector<workload::BufferRule>& rules) {
  std::vector<report::TorchKernel::Buffer> made;
  for (const auto& rule : rules)
    made.push_back({rule.name, rule.elements, rule.type});
  return made;
}

Result<report::TorchKernel::Shape> shape_of(const workload::Workload& workload,
                                            const workload::Shape& shape) {
  report::TorchKernel::Shape made{.params = shape.params, .inputs = {}};
  CUCO_TRY_ASSIGN(const auto inputs, workload.buffers(workload.inputs, shape));
  for (const auto& buffer : inputs)
    made.inputs.emplace_back(buffer.elements, std::string(workload::name_of(buffer.type)));
  return made;
}

/// The least of every range, with each value of the others: where rewrites go wrong.
std::vector<workload::Shape> least_shapes(const workload::Workload& workload) {
  std::vector<workload::Shape> made(1);
  for (const auto& range : workload.ranges) {
    const auto values = range.values.empty() ? std::vector<long long>{range.from} : range.values;
    std::vector<workload::Shape> longer;
    for (const auto& shape : made) {
      for (const long long value : values) {
        longer.push_back(shape);
        longer.back().params.push_back(value);
      }
    }
    made = std::move(longer);
  }
  if (made.size() > 8) made.resize(8);
  return workload.ranges.empty() ? std::vector<workload::Shape>() : made;
}

double tolerance_of(const workload::Workload& workload, workload::Element element, double usual) {
  const auto found = workload.tolerance.find(element);
  return found == workload.tolerance.end() ? usual
                                           : std::max(found->second.relative, found->second.scaled);
}

}  // namespace

Result<report::TorchKernel> torch_kernel(const workload::Workload& workload) {
  if (workload.ranks != 1) {
    return Error{ErrorKind::InvalidInput,
                 fmt::format("{} has {} ranks: only kernels of one GPU become PyTorch extensions",
                             workload.name, workload.ranks)};
  }
  report::TorchKernel made{.name = workload.name,
                           .params = workload.params,
                           .inputs = buffers_of(workload.inputs),
                           .outputs = buffers_of(workload.outputs),
                           .shapes = {}};
  made.fp32_tolerance = tolerance_of(workload, workload::Element::Fp32, made.fp32_tolerance);
  made.bf16_tolerance = tolerance_of(workload, workload::Element::Bf16, made.bf16_tolerance);
  std::vector<workload::Shape> shapes = least_shapes(workload);
  for (const workload::Shape* timed : workload.shapes_for(workload::Use::Time))
    shapes.push_back(*timed);
  for (const auto& shape : shapes) {
    CUCO_TRY_ASSIGN(auto described, shape_of(workload, shape));
    made.shapes.push_back(std::move(described));
  }
  return made;
}

}  // namespace cuco::cli
