// SPDX-License-Identifier: Apache-2.0
#include "fused_cases.h"

#include <array>
#include <vector>

#include <fmt/format.h>

#include "expert/emit/fused_gather.h"

namespace cuco::test {
namespace {
using namespace expert::emit;  // NOLINT(google-build-using-namespace)
using design::Backend;

/// A kernel that writes `part`, m x n elements, and how its blocks do it.
struct Producer {
  std::string_view name;
  std::string_view body;  ///< Reads a[], writes part[].
  TileMap tiles;
  std::string_view launch;  ///< Grid and block, of m and n.
};

const Producer kMatrix{
    "matrix",
    "  const int row = blockIdx.y * 8 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;\n"
    "  if (row < m && column < n) {\n"
    "    float sum = 0;\n"
    "    for (int k = 0; k < n; k += 5) sum += a[row * n + k] * (k + column);\n"
    "    part[row * n + column] = sum;\n"
    "  }\n",
    {"m", "n", "8", "16", "blockIdx.y", "blockIdx.x"},
    "dim3((n + 15) / 16, (m + 7) / 8), dim3(16, 8)"};

const Producer kVector{"vector",
                       "  const int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
                       "  if (i < m * n) part[i] = 3 * a[i] + i;\n",
                       {"m * n", "1", "96", "1", "blockIdx.x", "0"},
                       "(m * n + 95) / 96, 96"};

/// Rows of the producer's tiling are elements for vectors: the consumer reads as many.
constexpr std::string_view kConsumer =
    "__global__ void consume_{number}{which}(const float* all, float* out, int m, int "
    "n{parameters}) {{\n"
    "  const int source = blockIdx.y, begin = blockIdx.x * 64, end = min(begin + 64, m * n);\n"
    "{prologue}"
    "  for (int i = begin + threadIdx.x; i < end; i += blockDim.x)\n"
    "    out[source * m * n + i] = 2 * all[source * m * n + i] + source;\n"
    "}}\n\n";

std::string line(const std::string& statement) {
  return statement.empty() ? "" : "  " + statement + "\n";
}
std::string appended(const std::string& item) {
  return item.empty() ? "" : ", " + item;
}

std::string case_text(const Producer& producer, Backend backend, Waiting waiting, int number) {
  const bool rows = producer.tiles.columns == "n";
  FusedGather request{.name = fmt::format("gather_{}", number),
                      .backend = backend,
                      .waiting = waiting,
                      .tiles = producer.tiles,
                      .block_rows = rows ? 2 : 3,
                      .max_chunks = 5,
                      .output = "part",
                      .source = "source",
                      .first_row = rows ? "begin / n" : "begin",
                      .row_count = rows ? "(end - 1) / n - begin / n + 1" : "end - begin",
                      .expressions = {"", "result", "m * n", "", "stream", "comm", "site"}};
  const auto emitted = emit(request);
  if (!emitted) return {};
  std::string text = emitted->code;
  for (const bool with : {true, false}) {
    const auto pieces = with ? emitted->producer : KernelPieces{};
    const auto consumer = with ? emitted->consumer : KernelPieces{};
    const char* which = with ? "_emitted" : "";
    text += fmt::format(
        "__global__ void produce_{}{}(const float* a, float* part, int m, int n{}) {{\n"
        "{}{}{}}}\n\n",
        number, which, appended(pieces.parameters), line(pieces.prologue), producer.body,
        line(pieces.epilogue));
    text +=
        fmt::format(fmt::runtime(kConsumer), fmt::arg("number", number), fmt::arg("which", which),
                    fmt::arg("parameters", appended(consumer.parameters)),
                    fmt::arg("prologue", line(consumer.prologue)));
  }
  const auto allocate = emitted->result.allocate;
  const auto at = allocate.find("{bytes}");
  return text +
         fmt::format(
             "struct Case{number} {{\n"
             "  static constexpr const char* kName = \"{name}\";\n"
             "  {member}\n  {window}\n"
             "  ncclResult_t open(ncclComm_t comm) {{ return {setup}; }}\n"
             "  ncclResult_t allocate(ncclComm_t comm, float*& result, size_t bytes) {{\n"
             "    return {allocate};\n  }}\n"
             "  void produce(bool emitted, const float* a, float* result, int m, int n, const "
             "Rank& r) {{\n"
             "    float* part = result + (size_t)r.rank * m * n;\n"
             "    if (emitted) {{\n"
             "      produce_{number}_emitted<<<{launch}, 0, r.stream>>>(a, part, m, n, "
             "{arguments});\n"
             "    }} else {{\n"
             "      produce_{number}<<<{launch}, 0, r.stream>>>(a, part, m, n);\n"
             "    }}\n  }}\n"
             "  ncclResult_t gather(cudaStream_t stream) {{ return {call}; }}\n"
             "  void consume(bool emitted, const float* all, float* out, int m, int n, const Rank& "
             "r) {{\n"
             "    const dim3 grid((m * n + 63) / 64, r.ranks);\n"
             "    if (emitted) {{\n"
             "      consume_{number}_emitted<<<grid, 32, 0, r.stream>>>(all, out, m, "
             "n{consumer});\n"
             "    }} else {{\n"
             "      consume_{number}<<<grid, 32, 0, r.stream>>>(all, out, m, n);\n"
             "    }}\n  }}\n"
             "  ncclResult_t close() {{ return {teardown}; }}\n"
             "  ncclResult_t release(ncclComm_t comm) {{ return {release}; }}\n}};\n\n",
             fmt::arg("number", number),
             fmt::arg("name", fmt::format("{} {}, {}", producer.name, design::name(backend),
                                          name(waiting))),
             fmt::arg("member", emitted->member), fmt::arg("window", emitted->result.member),
             fmt::arg("setup", emitted->setup),
             fmt::arg("allocate", allocate.substr(0, at) + "bytes" + allocate.substr(at + 7)),
             fmt::arg("launch", producer.launch),
             fmt::arg("arguments", emitted->producer.arguments), fmt::arg("call", emitted->call),
             fmt::arg("consumer", appended(emitted->consumer.arguments)),
             fmt::arg("teardown", emitted->teardown), fmt::arg("release", emitted->result.release));
}

}  // namespace

std::string fused_program(const std::string& set) {
  std::string text = "#include \"cuco_chunks.cuh\"\n\n#include \"fused.cuh\"\n\n";
  std::string list;
  int number = 0;
  const auto add = [&](const Producer& producer, Backend backend, Waiting waiting) {
    text += case_text(producer, backend, waiting, number);
    list += fmt::format("{}Case{}", number == 0 ? "" : ", ", number);
    ++number;
  };
  if (set == "fused_everyday") {
    add(kMatrix, Backend::Lsa, Waiting::Consumer);
    add(kVector, Backend::Gin, Waiting::Between);
  } else if (set == "fused_hybrid") {
    for (const auto waiting : {Waiting::Producer, Waiting::Between, Waiting::Consumer}) {
      add(kMatrix, Backend::Hybrid, waiting);
    }
  } else {
    for (const auto backend : {Backend::Lsa, Backend::Gin, Backend::Multimem}) {
      for (const auto waiting : {Waiting::Producer, Waiting::Between, Waiting::Consumer}) {
        for (const auto* producer : {&kMatrix, &kVector})
          add(*producer, backend, waiting);
      }
    }
  }
  return text + fmt::format(
                    "int main(int argc, char** argv) {{\n"
                    "  return run_all<Fused, {}>(argc, argv);\n}}\n",
                    list);
}

}  // namespace cuco::test
