// SPDX-License-Identifier: Apache-2.0
#include "expert/emit/fused_gather.h"

#include <algorithm>
#include <cctype>

#include <fmt/format.h>

#include "expert/edit.h"
#include "expert/emit/names.h"
#include "expert/emit/preconditions.h"

namespace cuco::expert::emit {
namespace {

Error no(std::string reason) {
  return {ErrorKind::InvalidInput, std::move(reason)};
}

bool is_literal(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

/// With parentheses, unless it is one name or number.
std::string operand(const std::string& text) {
  const auto plain = [](unsigned char c) { return std::isalnum(c) != 0 || c == '_' || c == '.'; };
  return std::ranges::all_of(text, plain) ? text : "(" + text + ")";
}

/// "{(size_t)rows, (size_t)columns, 64, 64, 2}": what Sender and Receiver take.
std::string tiling_of(const FusedGather& request) {
  const auto& t = request.tiles;
  // Braces do not take an int for a size, but for a literal.
  const auto number = [](const std::string& text) {
    return is_literal(text) ? text : "(size_t)" + operand(text);
  };
  return fmt::format("{{{}, {}, {}, {}, {}}}", number(t.rows), number(t.columns),
                     number(t.tile_rows), number(t.tile_columns), request.block_rows);
}

KernelPieces producer_pieces(const FusedGather& request) {
  const auto type = cuda_type(request.element);
  const auto& e = request.expressions;
  const bool waits = request.waiting == Waiting::Producer;
  return {.parameters =
              fmt::format("cuco::Site {0}_site, cuco::Place<{1}> {0}_slice", request.name, type),
          .arguments = fmt::format("{0}, cuco::place_of({1}, {2} + (size_t){0}.comm.rank * {3})",
                                   e.site, beside(e.site, "recv"), e.recv, operand(e.count)),
          .prologue = fmt::format("cuco::Sender<{0}> {1}_sender({1}_site, {2});",
                                  path_of(request.backend), request.name, tiling_of(request)),
          .epilogue = fmt::format("{0}_sender.tile_done<{1}>({0}_slice, {2}, {3}, {4}, {5});",
                                  request.name, type, request.output, request.tiles.block_row,
                                  request.tiles.block_column, waits)};
}

KernelPieces consumer_pieces(const FusedGather& request) {
  return {.parameters = fmt::format("cuco::Site {}_site", request.name),
          .arguments = request.expressions.site,
          .prologue = fmt::format("cuco::Receiver<{0}>({1}_site, {2}).await_rows({3}, {4}, {5});",
                                  path_of(request.backend), request.name, tiling_of(request),
                                  request.source, request.first_row, request.row_count),
          .epilogue = ""};
}

}  // namespace

std::string_view chunks_header() {
  return header(kChunksHeaderName);
}

std::string_view name(Waiting waiting) {
  switch (waiting) {
    case Waiting::Producer:
      return "awaited by the producer";
    case Waiting::Between:
      return "awaited in between";
    case Waiting::Consumer:
      return "awaited by the consumer";
  }
  return {};
}

Result<EmittedGather> emit(const FusedGather& request) {
  if (request.backend == design::Backend::Host) return no("the host does not send from kernels");
  if (request.block_rows < 1 || request.max_chunks < 1) return no("a chunk has a row of blocks");
  const auto& e = request.expressions;
  const auto path = path_of(request.backend);
  EmittedGather emitted;
  emitted.include = fmt::format("#include \"{}\"", kChunksHeaderName);
  emitted.member = fmt::format("cuco::Site {};", last_name(e.site));
  // One flag more: for entering. Nothing goes through boxes.
  emitted.setup = fmt::format("cuco::open<{}>(&{}, 1, {{{}, 0}}, &{})", path, e.comm,
                              request.max_chunks + 1, e.site);
  emitted.teardown = fmt::format("cuco::close<{}>(&{}, 1)", path, e.site);
  emitted.call = "ncclSuccess";
  if (request.waiting == Waiting::Between) {
    emitted.code = filled("await_chunks.cu", {{"name", request.name}, {"path", path}});
    emitted.call = fmt::format("{}({}, {})", request.name, e.site, e.stream);
  }
  emitted.result = shared_buffer(e, e.recv, "recv");
  emitted.producer = producer_pieces(request);
  if (request.waiting == Waiting::Consumer) emitted.consumer = consumer_pieces(request);
  emitted.preconditions = preconditions_of(request);
  return emitted;
}

}  // namespace cuco::expert::emit
