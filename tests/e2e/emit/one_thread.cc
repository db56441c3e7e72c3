// SPDX-License-Identifier: Apache-2.0
#include "one_thread.h"

#include <fmt/format.h>

#include "expert/emit/emit.h"

namespace cuco::test {

std::string one_thread_program() {
  using namespace expert::emit;  // NOLINT(google-build-using-namespace)
  Request request{
      .name = "sum", .collective = Collective::AllReduce, .blocks = 2, .box_bytes = 512};
  request.expressions = {.send = "data[i]",
                         .recv = "data[i]",
                         .count = "n",
                         .root = "",
                         .stream = "streams[i]",
                         .comm = "comms[i]",
                         .site = "sites[i]",
                         .devices = "devices",
                         .comms = "comms.data()",
                         .sites = "sites.data()"};
  const auto emitted = emit(request);
  if (!emitted) return {};
  return fmt::format(
      "{include}\n\n#include \"harness.cuh\"\n\n{code}\n"
      "int main() {{\n"
      "  int devices = 0;\n"
      "  OK(cudaGetDeviceCount(&devices));\n"
      "  const size_t n = 777;\n"
      "  std::vector<ncclComm_t> comms(devices);\n"
      "  std::vector<cudaStream_t> streams(devices);\n"
      "  std::vector<float*> data(devices);\n"
      "  std::vector<cuco::Site> sites(devices);\n"
      "  std::vector<float> host(n, 1);\n"
      "  OK(ncclCommInitAll(comms.data(), devices, nullptr));\n"
      "  OK({setup});\n"
      "  for (int i = 0; i < devices; ++i) {{\n"
      "    OK(cudaSetDevice(i));\n"
      "    OK(cudaStreamCreate(&streams[i]));\n"
      "    OK(cudaMalloc(&data[i], n * sizeof(float)));\n"
      "    OK(cudaMemcpy(data[i], host.data(), n * sizeof(float), cudaMemcpyHostToDevice));\n"
      "  }}\n"
      "  for (int step = 0; step < 3; ++step) {{\n"
      "    OK(ncclGroupStart());\n"
      "    for (int i = 0; i < devices; ++i) {{\n"
      "      OK(cudaSetDevice(i));\n"
      "      OK({call});\n"
      "    }}\n"
      "    OK(ncclGroupEnd());\n"
      "  }}\n"
      "  int wrong = 0;\n"
      "  for (int i = 0; i < devices; ++i) {{\n"
      "    OK(cudaSetDevice(i));\n"
      "    OK(cudaStreamSynchronize(streams[i]));\n"
      "    OK(cudaMemcpy(host.data(), data[i], n * sizeof(float), cudaMemcpyDeviceToHost));\n"
      "    for (float v : host) wrong += v != (float)(devices * devices * devices);\n"
      "  }}\n"
      "  OK({teardown});\n"
      "  for (int i = 0; i < devices; ++i) {{\n"
      "    OK(cudaSetDevice(i));\n"
      "    OK(cudaFree(data[i]));\n"
      "    OK(cudaStreamDestroy(streams[i]));\n"
      "    OK(ncclCommDestroy(comms[i]));\n"
      "  }}\n"
      "  std::printf(\"%s\\n\", wrong ? \"FAIL\" : \"ok\");\n"
      "  return wrong != 0;\n"
      "}}\n",
      fmt::arg("include", emitted->include), fmt::arg("code", emitted->code),
      fmt::arg("setup", emitted->setup), fmt::arg("call", emitted->call),
      fmt::arg("teardown", emitted->teardown));
}

}  // namespace cuco::test
