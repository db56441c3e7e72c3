// SPDX-License-Identifier: Apache-2.0
#include "expert/designs.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/text.h"
#include "expert/edit.h"
#include "program/regions.h"

namespace cuco::expert {
namespace {
using analysis::Span;

/// Why a design does not apply to this program.
Error no(std::string reason) {
  return {ErrorKind::InvalidInput, std::move(reason)};
}

/// What every design shares: the device header, a member of the state, its creation and release.
class Rewrite {
 public:
  explicit Rewrite(const GatherSite& site) : site_(site), edits_(site.text) {}

  Edits& edits() { return edits_; }
  std::string apply() { return with_short_lines(edits_.apply()); }

  Result<void> add_infrastructure(const std::string& device,
                                  const std::string& host,
                                  const std::string& member) {
    constexpr std::string_view kHeader = "#include <nccl.h>\n";
    const auto header = site_.text.find(kHeader);
    if (header == std::string_view::npos) return no("the program does not include <nccl.h>");
    edits_.insert(header + kHeader.size(), "#include <nccl_device.h>\n");

    CUCO_TRY_ASSIGN(const std::size_t kernels, start_of_kernels());
    if (!device.empty()) edits_.insert(kernels, "\n" + device);
    const auto& home = site_.home;
    edits_.insert(home.record->span.begin, host + "\n");
    edits_.insert(home.record->span.end - 1, fmt::format("  {} gather;\n", member));
    // Resources come last: everything that they refer to exists by then.
    const auto last_return = analysis::returns_in(*home.setup).back();
    edits_.replace(
        last_return.begin, last_return.end,
        fmt::format("return make_gather({}, &{}gather);", home.setup_context, home.in_setup));
    edits_.insert(
        home.teardown->body->span.begin + 1,
        fmt::format("\n  free_gather({0}{1}, {0}gather);", home.in_teardown, home.context));
    return {};
  }

  /// "state.gather" in run().
  [[nodiscard]] std::string gather_member() const { return site_.home.in_run + "gather"; }
  [[nodiscard]] std::string set() const { return site_.home.set; }

  /// A statement in run() before the producers are launched.
  void before_launch(const std::string& statement) {
    edits_.insert(site_.launcher_call.outermost.begin, statement + "\n  ");
  }

  /// The collective's own statement goes; its success is returned where it was.
  void drop_collective() {
    const auto& statement = site_.collective->statement;
    const auto old = site_.text.substr(statement.begin, statement.end - statement.begin);
    edits_.replace(statement.begin, statement.end, old.starts_with("return") ? "return 0;" : ";");
  }

  void append_argument(const Span& call, const std::string& argument) {
    edits_.insert(call.end - 1, ", " + argument);
  }

  void append_launcher_parameter(const std::string& parameter) {
    const auto last = static_cast<std::size_t>(site_.launcher->parameters.back());
    edits_.insert(site_.graph->syntax.variables[last].span.end, ", " + parameter);
  }

 private:
  /// Device code goes to the top of the producers' evolve region: anything outside is frozen.
  Result<std::size_t> start_of_kernels() const {
    CUCO_TRY_ASSIGN(const auto regions, program::find_regions(site_.text));
    const auto first = site_.producers.front().kernel->span.begin;
    for (const auto& region : regions) {
      if (region.begin <= first && first < region.end) return region.begin;
    }
    return no("the producers are not in an evolve region");
  }

  const GatherSite& site_;
  Edits edits_;
};

std::string text_of(const GatherSite& site, const Span& span) {
  return std::string(site.text.substr(span.begin, span.end - span.begin));
}

/// A template's text as part of another one.
std::string part(std::string_view name, const Values& values = {}) {
  return std::string(trim(filled(name, values)));
}

/// The producing kernel becomes a device function NAME_tile, and a new kernel NAME calls it between
/// entering and finishing. Early returns of the original stay what they were. Where the gather
/// replaces the output pointer, NAME_tile takes it in the pointer's place.
void wrap_kernel(const GatherSite& site,
                 const Producer& producer,
                 bool replaces_output,
                 const Values& calls,
                 Edits& edits) {
  const auto& kernel = *producer.kernel;
  std::vector<std::string> tile_parameters;
  std::vector<std::string> kernel_parameters;
  std::vector<std::string> arguments;
  for (std::size_t i = 0; i < kernel.parameters.size(); ++i) {
    const auto text = text_of(site, kernel.parameters[i].span);
    if (replaces_output && i == producer.output) {
      tile_parameters.emplace_back("const Gather& gather");
      arguments.emplace_back("gather");
    } else {
      tile_parameters.push_back(text);
      kernel_parameters.push_back(text);
      arguments.push_back(kernel.parameters[i].name);
    }
  }
  kernel_parameters.emplace_back("const Gather gather");
  edits.replace(kernel.span.begin, kernel.parameters.back().span.end,
                parameter_list(fmt::format("__device__ __forceinline__ void {}_tile(", kernel.name),
                               tile_parameters, 3));
  Values values = calls;
  values["signature"] = parameter_list(
      fmt::format("__global__ void{} {}(", producer.attributes, kernel.name), kernel_parameters, 3);
  values["kernel"] = kernel.name;
  values["arguments"] = join(arguments, ", ");
  edits.insert(kernel.span.end, "\n\n" + part("fused_kernel.cu", values));
}

}  // namespace

Result<std::string> infrastructure_only(const GatherSite& site) {
  Rewrite rewrite(site);
  CUCO_TRY(
      rewrite.add_infrastructure("", filled("infrastructure.cu", {{"barriers", "1"}}), "Gather"));
  return rewrite.apply();
}

Result<std::string> gather_after_producer(const GatherSite& site, int blocks) {
  Rewrite rewrite(site);
  const Values values{
      {"blocks", std::to_string(blocks)},
      {"infrastructure", part("infrastructure.cu", {{"barriers", "kGatherBlocks"}})}};
  CUCO_TRY(rewrite.add_infrastructure(filled("after_producer_device.cu", values),
                                      filled("after_producer_host.cu", values), "Gather"));
  const auto& span = site.collective->span;
  rewrite.edits().replace(
      span.begin, span.end,
      fmt::format("all_gather({}, {}, {}, {}, {})", rewrite.gather_member(), rewrite.set(),
                  site.offset, site.bytes, site.collective->stream));
  return rewrite.apply();
}

Result<std::string> gather_beside_producer(const GatherSite& site, int chunk_kib, int blocks) {
  if (site.rows.empty()) return no("the producers' grid does not show how rows map to blocks");
  Rewrite rewrite(site);
  auto& edits = rewrite.edits();
  const Values values{{"chunk_kib", std::to_string(chunk_kib)},
                      {"blocks", std::to_string(blocks)},
                      {"meet", part("meet.cu")}};
  CUCO_TRY(rewrite.add_infrastructure(filled("stream_split_device.cu", values),
                                      filled("stream_split_host.cu", values), "Gather"));
  const auto& outermost = site.producers.front().launch->outermost;
  for (const auto& producer : site.producers) {
    if (!(producer.launch->outermost == outermost)) return no("the launches are not one statement");
    const auto& kernel = *producer.kernel;
    edits.insert(kernel.parameters.back().span.end, ", int first_block_row");
    // A launch covers a part of the grid, so the kernel has to add where the part begins.
    for (auto at = site.text.find("blockIdx.y", kernel.body.begin); at < kernel.body.end;
         at = site.text.find("blockIdx.y", at + 1)) {
      edits.replace(at, at + 10, "(first_block_row + blockIdx.y)");
    }
    const auto& span = producer.launch->span;
    const auto grid = site.text.find("<<<" + site.grid, span.begin);
    edits.replace(grid + 3, grid + 3 + site.grid.size(), "part");
    rewrite.append_argument(span, "first");
  }
  // The launches, with their edits, move into a loop over the chunks.
  const auto launches = indented(edits.take(outermost.begin, outermost.end), 2);
  edits.replace(
      outermost.begin, outermost.end,
      fmt::format("const int wanted = (int)(kChunkBytes / ({tile} * gather.row_bytes));\n"
                  "  // Fewer block rows than fill the GPU take as long as those that do.\n"
                  "  const int wave = (gather.sms + (int){grid}.x - 1) / (int){grid}.x;\n"
                  "  const int step = wanted > wave ? wanted : wave;  // block rows of a chunk\n"
                  "  for (int first = 0; first < (int){grid}.y; first += step) {{\n"
                  "    const int left = (int){grid}.y - first;\n"
                  "    const dim3 part({grid}.x, left < step ? left : step);\n"
                  "  {launches}\n"
                  "    const int end = (first + (int)part.y) * {tile};\n"
                  "    send_when_computed(gather, first * {tile}, end < {rows} ? end : {rows}, "
                  "{stream});\n"
                  "  }}",
                  fmt::arg("tile", site.tile), fmt::arg("grid", site.grid),
                  fmt::arg("rows", site.launcher_rows), fmt::arg("launches", launches),
                  fmt::arg("stream", site.producers.front().launch->configuration.stream)));
  rewrite.append_launcher_parameter("Gather& gather");
  rewrite.append_argument(site.launcher_call.call->span, rewrite.gather_member());
  rewrite.before_launch(fmt::format("begin_gather({}, {}, {}, {} / {}, {});",
                                    rewrite.gather_member(), rewrite.set(), site.offset, site.bytes,
                                    site.rows, site.collective->stream));
  const auto& span = site.collective->span;
  edits.replace(
      span.begin, span.end,
      fmt::format("end_gather({}, {})", rewrite.gather_member(), site.collective->stream));
  return rewrite.apply();
}

Result<std::string> gather_chunks_in_producer(const GatherSite& site, int chunk_kib) {
  if (site.rows.empty()) return no("the producers' grid does not show how rows map to blocks");
  Rewrite rewrite(site);
  const Values values{{"chunk_kib", std::to_string(chunk_kib)},
                      {"flags", part("flags.cu")},
                      {"begin_gather", part("fused_chunks_begin.cu")}};
  CUCO_TRY(rewrite.add_infrastructure(filled("fused_chunks_device.cu", values),
                                      filled("fused_host.cu", values), "GatherResources"));
  for (const auto& producer : site.producers) {
    if (producer.tile_rows.empty()) {
      return no("the source does not show which rows a block of " + producer.name + " computes");
    }
    wrap_kernel(site, producer, false,
                {{"enter", "announce_launch"}, {"finish", "gather, " + producer.tile_rows}},
                rewrite.edits());
    rewrite.append_argument(producer.launch->span, "gather");
  }
  rewrite.append_launcher_parameter("const Gather& gather");
  rewrite.append_argument(site.launcher_call.call->span, "gather");
  rewrite.before_launch(fmt::format("const Gather gather = begin_gather({}, {}, {}, {}, {}, {});",
                                    rewrite.gather_member(), rewrite.set(), site.collective->send,
                                    site.offset, site.bytes, site.rows));
  rewrite.drop_collective();
  return rewrite.apply();
}

Result<std::string> gather_tiles_in_producer(const GatherSite& site) {
  Rewrite rewrite(site);
  auto& edits = rewrite.edits();
  const Values values{{"flags", part("flags.cu")}, {"begin_gather", part("fused_tiles_begin.cu")}};
  CUCO_TRY(rewrite.add_infrastructure(filled("fused_tiles_device.cu", values),
                                      filled("fused_host.cu", values), "GatherResources"));
  for (const auto& producer : site.producers) {
    const auto& output = producer.kernel->parameters[producer.output].name;
    // Each store of the output becomes a loop over all ranks' copies; the pointer keeps its name.
    for (const auto& store : producer.kernel->stores) {
      if (store.parameter != static_cast<int>(producer.output)) continue;
      if (!store.direct) return no(producer.name + " writes its output through an alias");
      const auto line = site.text.rfind('\n', store.statement.begin) + 1;
      const std::string margin(store.statement.begin - line, ' ');
      const auto statement = indented(text_of(site, store.statement), 2);
      edits.replace(store.statement.begin, store.statement.end,
                    fmt::format("for (int copy = 0; copy < gather.comm.lsaSize; ++copy) {{\n"
                                "{0}  {1}* {2} = slice_in_copy<{1}>(gather, copy);\n"
                                "{0}{3}\n"
                                "{0}}}",
                                margin, producer.element, output, statement));
    }
    wrap_kernel(site, producer, true, {{"enter", "enter_launch"}, {"finish", "gather"}}, edits);
    // The kernel takes the gather last, in the place of the pointer.
    const auto& launch = *producer.launch;
    std::vector<std::string> arguments = launch.arguments;
    arguments.erase(arguments.begin() + static_cast<long>(producer.output));
    arguments.emplace_back("gather");
    const auto open = site.text.find(">>>(", launch.span.begin) + 4;
    edits.replace(open, launch.span.end - 1, join(arguments, ", "));
  }
  rewrite.append_launcher_parameter("const Gather& gather");
  rewrite.append_argument(site.launcher_call.call->span, "gather");
  rewrite.before_launch(fmt::format("const Gather gather = begin_gather({}, {}, {});",
                                    rewrite.gather_member(), rewrite.set(), site.offset));
  rewrite.drop_collective();
  return rewrite.apply();
}

}  // namespace cuco::expert
