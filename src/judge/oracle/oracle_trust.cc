// SPDX-License-Identifier: Apache-2.0
#include "judge/oracle/oracle_trust.h"

#include <algorithm>
#include <functional>

#include <fmt/format.h>

namespace cuco::judge {
namespace {

using Change = std::function<double(std::size_t index, double right)>;

/// The answer with every element changed.
std::string changed(const std::string& answer, workload::Element type, const Change& change) {
  std::string bytes = answer;
  const auto elements = std::as_bytes(std::span(answer));
  for (std::size_t i = 0; i < answer.size() / workload::bytes_of(type); ++i) {
    store_element(std::as_writable_bytes(std::span(bytes)), i, type,
                  change(i, load_element(elements, i, type)));
  }
  return bytes;
}

Result<void> make_inputs(const workload::Workload& workload,
                         const workload::Shape& shape,
                         std::uint64_t key,
                         Oracle& oracle) {
  CUCO_TRY_ASSIGN(const auto inputs, workload.buffers(workload.inputs, shape));
  for (int rank = 0; rank < workload.ranks; ++rank) {
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      CUCO_TRY(oracle.input(workload, shape, key, rank, static_cast<int>(i), inputs[i].bytes()));
    }
  }
  return {};
}

}  // namespace

Result<std::vector<OracleTest>> test_oracle(const workload::Workload& workload,
                                            const workload::Shape& shape,
                                            const workload::Secret& secret,
                                            Oracle& oracle) {
  std::vector<OracleTest> tests;
  CUCO_TRY_ASSIGN(const auto outputs, workload.buffers(workload.outputs, shape));
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const workload::Buffer& buffer = outputs[i];
    const int output = static_cast<int>(i);
    CUCO_TRY(make_inputs(workload, shape, secret.key("oracle test, before"), oracle));
    CUCO_TRY_ASSIGN(const std::string before,
                    oracle.answer(workload, shape, 0, output, buffer, false));
    CUCO_TRY(make_inputs(workload, shape, secret.key("oracle test"), oracle));
    CUCO_TRY_ASSIGN(const std::string right,
                    oracle.answer(workload, shape, 0, output, buffer, false));
    const auto elements = std::as_bytes(std::span(right));
    const auto count = buffer.elements;
    const auto next = [&](std::size_t k, double) {
      return load_element(elements, (k + 1) % count, buffer.type);
    };
    CUCO_TRY_ASSIGN(const std::string coarse,
                    oracle.answer(workload, shape, 0, output, buffer, true));
    const std::vector<std::pair<std::string, std::string>> wrongs = {
        {"zeros", std::string(right.size(), '\0')},
        {"a constant", changed(right, buffer.type, [](std::size_t, double) { return 0.5; })},
        {"the previous iteration's answer", before},
        {"a permuted answer", changed(right, buffer.type, next)},
        {"one precision lower at the end",
         changed(right, buffer.type,
                 [&](std::size_t, double x) { return one_precision_lower(x, buffer.type); })},
        {"one precision lower from the beginning", coarse},
        {"one wrong element", changed(right, buffer.type, [&](std::size_t k, double x) {
           return k == count / 2 ? x + 1.0 + x * 0.5 : x;
         })}};
    const auto is_accepted = [&](const std::string& bytes) -> Result<bool> {
      const Oracle::Question question{0, output, buffer.type, 1, ~std::size_t{0}};
      CUCO_TRY_ASSIGN(const Comparison found, oracle.check(workload, shape, question, bytes));
      return found.wrong == 0;
    };
    CUCO_TRY_ASSIGN(const bool accepted, is_accepted(right));
    tests.push_back(
        {fmt::format("{}: accepts the right answer", buffer.name), shape.name, accepted});
    for (const auto& [what, bytes] : wrongs) {
      CUCO_TRY_ASSIGN(const bool fooled, is_accepted(bytes));
      tests.push_back({fmt::format("{}: rejects {}", buffer.name, what), shape.name, !fooled});
    }
  }
  return tests;
}

}  // namespace cuco::judge
