// SPDX-License-Identifier: Apache-2.0
#include "workload/workload.h"

#include <cmath>

#include <fmt/format.h>

namespace cuco::workload {

std::size_t bytes_of(Element element) {
  return element == Element::Bf16 ? 2 : 4;
}
std::string_view name_of(Element element) {
  switch (element) {
    case Element::Fp32:
      return "fp32";
    case Element::Bf16:
      return "bf16";
    case Element::Int32:
      return "int32";
  }
  return "";
}

Result<Element> parse_element(std::string_view name) {
  if (name == "fp32") return Element::Fp32;
  if (name == "bf16") return Element::Bf16;
  if (name == "int32") return Element::Int32;
  return Error{ErrorKind::InvalidInput,
               fmt::format("unknown element type: {} (fp32, bf16, int32)", name)};
}

Variables Workload::variables(const Shape& shape) const {
  Variables variables{{"ranks", ranks}};
  for (std::size_t i = 0; i < params.size(); ++i) {
    variables[params[i]] = static_cast<double>(shape.params[i]);
  }
  return variables;
}

Result<std::vector<Buffer>> Workload::buffers(const std::vector<BufferRule>& rules,
                                              const Shape& shape) const {
  const Variables known = variables(shape);
  std::vector<Buffer> result;
  for (const BufferRule& rule : rules) {
    auto elements = evaluate(rule.elements, known);
    if (!elements) return std::move(elements).error().while_doing(rule.name);
    if (*elements < 1 || *elements > 0x1p40 || *elements != std::floor(*elements)) {
      return Error{ErrorKind::InvalidInput, fmt::format("{}: {} elements", rule.name, *elements)};
    }
    CUCO_TRY_ASSIGN(const std::string type, choose(rule.type, known));
    CUCO_TRY_ASSIGN(const Element element, parse_element(type));
    result.push_back({rule.name, static_cast<std::size_t>(*elements), element});
  }
  return result;
}

Result<measure::Demand> Workload::demand(const Shape& shape) const {
  const Variables known = variables(shape);
  measure::Demand demand;
  CUCO_TRY_ASSIGN(demand.flops, evaluate(flops, known));
  CUCO_TRY_ASSIGN(demand.hbm_bytes, evaluate(hbm_bytes, known));
  CUCO_TRY_ASSIGN(demand.wire_bytes, evaluate(wire_bytes, known));
  return demand;
}

std::vector<const Shape*> Workload::shapes_for(Use use) const {
  std::vector<const Shape*> found;
  for (const Shape& shape : shapes) {
    if (shape.uses.contains(use)) found.push_back(&shape);
  }
  return found;
}

}  // namespace cuco::workload
