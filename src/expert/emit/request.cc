// SPDX-License-Identifier: Apache-2.0
#include "expert/emit/request.h"

#include <array>

namespace cuco::expert::emit {
namespace {

struct ElementFacts {
  std::string_view name;
  std::string_view type;
  int bytes;
};

// In the order of Element.
constexpr std::array kElements{
    ElementFacts{"int8", "signed char", 1}, ElementFacts{"uint8", "unsigned char", 1},
    ElementFacts{"int32", "int", 4},        ElementFacts{"uint32", "unsigned", 4},
    ElementFacts{"int64", "long long", 8},  ElementFacts{"uint64", "unsigned long long", 8},
    ElementFacts{"half", "__half", 2},      ElementFacts{"bfloat16", "__nv_bfloat16", 2},
    ElementFacts{"float", "float", 4},      ElementFacts{"double", "double", 8},
};

const ElementFacts& facts(Element element) {
  return kElements[static_cast<std::size_t>(element)];
}

}  // namespace

std::string_view name(Collective collective) {
  constexpr std::array<std::string_view, 7> kNames{"all-gather", "all-reduce", "reduce-scatter",
                                                   "broadcast",  "reduce",     "all-to-all",
                                                   "exchange"};
  return kNames[static_cast<std::size_t>(collective)];
}

std::string_view name(Element element) {
  return facts(element).name;
}

std::string_view name(Reduction reduction) {
  constexpr std::array<std::string_view, 5> kNames{"Sum", "Prod", "Min", "Max", "Avg"};
  return kNames[static_cast<std::size_t>(reduction)];
}

std::string_view name(Buffers buffers) {
  return buffers == Buffers::Staged ? "staged" : "windows";
}

std::string_view name(Shots shots) {
  return shots == Shots::One ? "one-shot" : "two-shot";
}

std::string_view cuda_type(Element element) {
  return facts(element).type;
}

int bytes_of(Element element) {
  return facts(element).bytes;
}

bool reduces(Collective collective) {
  return collective == Collective::AllReduce || collective == Collective::ReduceScatter ||
         collective == Collective::Reduce;
}

bool has_root(Collective collective) {
  return collective == Collective::Broadcast || collective == Collective::Reduce;
}

}  // namespace cuco::expert::emit
