// SPDX-License-Identifier: Apache-2.0
#include "cli/programs/split/split_proposal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cuco::cli {
namespace {
using testing::HasSubstr;

/// One buffer of so many bytes, copied to the host.
analysis::CommunicationGraph program(std::string name, std::string bytes) {
  analysis::CommunicationGraph graph;
  graph.buffers.push_back({.name = std::move(name), .bytes = std::move(bytes)});
  analysis::Operation copy;
  copy.kind = analysis::OperationKind::Copy;
  copy.reads = {0};
  graph.operations.push_back(std::move(copy));
  return graph;
}

std::string proposal(const analysis::CommunicationGraph& graph) {
  return split_proposal(graph, {"mine", "prog.cu", 4, "nvlink4"});
}

TEST(SplitProposal, NamesWhatTheSizesAreMadeOf) {
  const std::string text = proposal(
      program("model.up", "sizeof(float) * model.tokens_of_the_batch * layers->hidden_features"));
  EXPECT_THAT(text, HasSubstr("params = [\"model_tokens_of_the_batch\", "
                              "\"layers_hidden_features\"]"));
  EXPECT_THAT(text, HasSubstr("[[output]]\nname = \"model_up\"\nelements = "
                              "\"model_tokens_of_the_batch * layers_hidden_features\"\n"
                              "type = \"fp32\"\n"));
}

TEST(SplitProposal, DividesBytesWhereTheTypeIsKnown) {
  analysis::CommunicationGraph graph = program("out", "bytes");
  analysis::Kernel kernel;
  kernel.parameters.push_back({.name = "out", .type = "float *", .is_pointer = true, .buffer = 0});
  graph.kernels.push_back(std::move(kernel));
  EXPECT_THAT(proposal(graph), HasSubstr("elements = \"bytes / 4\"\n"));
  EXPECT_THAT(proposal(program("out", "bytes")), HasSubstr("elements = \"bytes\"\ntype = \"?\""));
}

}  // namespace
}  // namespace cuco::cli
