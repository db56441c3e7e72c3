// SPDX-License-Identifier: Apache-2.0
#include "expert/kernels/writing/shuffle_reduction.h"

#include <fmt/format.h>

#include "base/assert.h"
#include "expert/edit.h"

namespace cuco::expert::kernels {
namespace {

/// "sum" for "+".
std::string_view noun(const std::string& operation) {
  if (operation == "+") return "sum";
  if (operation == "*") return "product";
  if (operation == "max" || operation == "fmaxf" || operation == "fmax") return "maximum";
  CUCO_ASSERT(operation == "min" || operation == "fminf" || operation == "fmin");
  return "minimum";
}

}  // namespace

std::string usual_reducer_name(const std::string& operation) {
  return fmt::format("block_{}", noun(operation));
}

std::string reducer(const std::string& operation, const std::string& name) {
  const bool arithmetic = operation == "+" || operation == "*";
  const Values values{{"what", std::string(noun(operation))},
                      {"name", name},
                      {"combine", arithmetic ? fmt::format("value {} other", operation)
                                             : fmt::format("{}(value, other)", operation)},
                      {"first", arithmetic ? fmt::format("lane < warps ? shared[lane] : T({})",
                                                         operation == "+" ? 0 : 1)
                                           : "shared[lane < warps ? lane : 0]"}};
  return filled("block_reduce.cu", values);
}

std::vector<Replacement> reduce_by_shuffles(const KernelBody& kernel,
                                            const TreeReduction& tree,
                                            std::string_view text,
                                            const std::string& function,
                                            FreshNames& fresh) {
  const auto name = fresh.make(std::string(noun(tree.operation)));
  const auto& array = kernel.variable(tree.array).name;
  auto call = fmt::format("const auto {} = {}({}, {});", name, function, tree.value->text, array);
  if (tree.reused) {
    call += fmt::format("\n{}__syncthreads();  // before '{}' is written again",
                        std::string(indentation(text, tree.replaced.begin), ' '), array);
  }
  std::vector<Replacement> made = {{tree.replaced.begin, tree.replaced.end, std::move(call)}};
  for (const auto& result : tree.results)
    made.push_back({result.begin, result.end, name});
  return made;
}

}  // namespace cuco::expert::kernels
