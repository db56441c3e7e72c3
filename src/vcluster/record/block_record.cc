// SPDX-License-Identifier: Apache-2.0
#include "vcluster/record/block_record.h"

#include <optional>
#include <span>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace cuco::vcluster {
namespace {

/// A grid of more blocks is not recorded, and nobody who says so is believed.
constexpr std::uint64_t kMostBlocks = 1U << 20U;

Json parts_json(const std::vector<TracedPart>& parts) {
  Json out = Json::array();
  for (const TracedPart& part : parts)
    out.push_back({part.buffer, part.offset, part.bytes});
  return out;
}

/// Times as they are, -1 for those that do not come.
Json times_json(const std::vector<std::int64_t>& times) {
  Json out = Json::array();
  for (const std::int64_t time : times)
    out.push_back(time == kNoTime ? -1 : time);
  return out;
}

Json map_json(const BlockMap& map) {
  Json read = Json::array();
  Json written = Json::array();
  for (std::size_t block = 0; block < map.size(); ++block) {
    for (const ByteRows& rows : map[block].read)
      read.push_back({block, rows.first, rows.bytes, rows.rows, rows.pitch});
    for (const ByteRows& rows : map[block].written)
      written.push_back({block, rows.first, rows.bytes, rows.rows, rows.pitch});
  }
  return {{"blocks", map.size()}, {"read", std::move(read)}, {"written", std::move(written)}};
}

Json step_json(const TracedStep& step) {
  Json out = {{"kind", step.kind},
              {"name", step.name},
              {"order", step.order},
              {"device", step.device},
              {"stream", step.stream},
              {"started_ps", step.started_ps},
              {"finished_ps", step.finished_ps}};
  if (step.kind != "kernel") {
    out["read"] = parts_json(step.read);
    out["written"] = parts_json(step.written);
    return out;
  }
  out["grid"] = step.grid;
  out["block"] = step.block;
  out["pointers"] = Json::array();
  for (const TracedPointer& pointer : step.pointers)
    out["pointers"].push_back({pointer.parameter, pointer.inside, pointer.buffer, pointer.offset});
  out["numbers"] = Json::array();
  for (const TracedNumber& number : step.numbers)
    out["numbers"].push_back({number.parameter, static_cast<std::uint64_t>(number.value)});
  out["touched"] = Json::array();
  for (const TouchedBuffer& touched : step.touched) {
    out["touched"].push_back({{"buffer", touched.buffer},
                              {"map", touched.map},
                              {"exact", touched.is_exact},
                              {"chunk_bytes", touched.times.bytes},
                              {"first_read_ps", times_json(touched.times.first_read)},
                              {"last_write_ps", times_json(touched.times.last_write)}});
  }
  if (step.is_dropped) out["dropped"] = true;
  return out;
}

Error broken(std::string_view what) {
  return {ErrorKind::InvalidInput, fmt::format("a record of blocks has a broken {}", what)};
}

/// The numbers of a row; nothing where it is not so many, or not numbers.
std::optional<std::vector<std::uint64_t>> numbers(const Json& row, std::size_t count) {
  if (!row.is_array() || row.size() != count) return std::nullopt;
  std::vector<std::uint64_t> out;
  for (const Json& item : row) {
    if (!item.is_number_integer()) return std::nullopt;
    out.push_back(item.get<std::uint64_t>());
  }
  return out;
}

const Json& list(const Json& object, const char* name) {
  static const Json kNothing = Json::array();
  if (!object.is_object()) return kNothing;
  const auto found = object.find(name);
  return found != object.end() && found->is_array() ? *found : kNothing;
}

Result<std::vector<TracedPart>> read_parts(const Json& rows) {
  std::vector<TracedPart> out;
  for (const Json& row : rows) {
    const auto words = numbers(row, 3);
    if (!words) return broken("part");
    out.push_back({(*words)[0], (*words)[1], (*words)[2]});
  }
  return out;
}

std::vector<std::int64_t> read_times(const Json& row) {
  std::vector<std::int64_t> out;
  for (const Json& item : row) {
    const std::int64_t time = item.is_number_integer() ? item.get<std::int64_t>() : -1;
    out.push_back(time < 0 ? kNoTime : time);
  }
  return out;
}

Result<BlockMap> read_map(const Json& json) {
  CUCO_TRY_ASSIGN(const std::int64_t blocks, integer_member(json, "blocks"));
  if (blocks < 0 || static_cast<std::uint64_t>(blocks) > kMostBlocks) return broken("map");
  BlockMap map(static_cast<std::size_t>(blocks));
  for (const auto& [name, member] :
       {std::pair("read", &BlockRows::read), std::pair("written", &BlockRows::written)}) {
    for (const Json& row : list(json, name)) {
      const auto words = numbers(row, 5);
      if (!words || (*words)[0] >= map.size()) return broken("map");
      (map[(*words)[0]].*member).push_back({(*words)[1], (*words)[2], (*words)[3], (*words)[4]});
    }
  }
  return map;
}

Result<TouchedBuffer> read_touched(const Json& json, std::size_t maps) {
  TouchedBuffer out;
  CUCO_TRY_ASSIGN(const std::int64_t buffer, integer_member(json, "buffer"));
  CUCO_TRY_ASSIGN(const std::int64_t map, integer_member(json, "map"));
  CUCO_TRY_ASSIGN(const std::int64_t chunk, integer_member(json, "chunk_bytes"));
  CUCO_TRY_ASSIGN(out.is_exact, bool_member(json, "exact"));
  if (map < 0 || static_cast<std::size_t>(map) >= maps || chunk < 1) return broken("launch");
  out.buffer = static_cast<std::uint64_t>(buffer);
  out.map = static_cast<std::size_t>(map);
  out.times.bytes = static_cast<std::uint64_t>(chunk);
  out.times.first_read = read_times(list(json, "first_read_ps"));
  out.times.last_write = read_times(list(json, "last_write_ps"));
  return out;
}

Result<std::array<std::uint32_t, 3>> read_dimensions(const Json& step, const char* name) {
  const auto words = numbers(list(step, name), 3);
  if (!words) return broken(name);
  return std::array{static_cast<std::uint32_t>((*words)[0]),
                    static_cast<std::uint32_t>((*words)[1]),
                    static_cast<std::uint32_t>((*words)[2])};
}

Result<void> read_launch(const Json& json, const std::vector<BlockMap>& maps, TracedStep& step) {
  CUCO_TRY_ASSIGN(step.grid, read_dimensions(json, "grid"));
  CUCO_TRY_ASSIGN(step.block, read_dimensions(json, "block"));
  for (const Json& row : list(json, "pointers")) {
    const auto words = numbers(row, 4);
    if (!words) return broken("pointer");
    step.pointers.push_back({static_cast<std::uint32_t>((*words)[0]),
                             static_cast<std::uint32_t>((*words)[1]), (*words)[2], (*words)[3]});
  }
  for (const Json& row : list(json, "numbers")) {
    const auto words = numbers(row, 2);
    if (!words) return broken("number");
    step.numbers.push_back(
        {static_cast<std::uint32_t>((*words)[0]), static_cast<std::int64_t>((*words)[1])});
  }
  const std::uint64_t blocks = std::uint64_t{step.grid[0]} * step.grid[1] * step.grid[2];
  for (const Json& item : list(json, "touched")) {
    CUCO_TRY_ASSIGN(TouchedBuffer touched, read_touched(item, maps.size()));
    if (maps[touched.map].size() != blocks) return broken("launch");
    step.touched.push_back(std::move(touched));
  }
  step.is_dropped = json.contains("dropped");
  return {};
}

Result<TracedStep> read_step(const Json& json, const std::vector<BlockMap>& maps) {
  TracedStep step;
  CUCO_TRY_ASSIGN(step.kind, string_member(json, "kind"));
  CUCO_TRY_ASSIGN(step.name, string_member(json, "name"));
  CUCO_TRY_ASSIGN(step.stream, string_member(json, "stream"));
  CUCO_TRY_ASSIGN(const std::int64_t order, integer_member(json, "order"));
  CUCO_TRY_ASSIGN(const std::int64_t device, integer_member(json, "device"));
  CUCO_TRY_ASSIGN(step.started_ps, integer_member(json, "started_ps"));
  CUCO_TRY_ASSIGN(step.finished_ps, integer_member(json, "finished_ps"));
  step.order = static_cast<std::uint64_t>(order);
  step.device = static_cast<std::int32_t>(device);
  CUCO_TRY_ASSIGN(step.read, read_parts(list(json, "read")));
  CUCO_TRY_ASSIGN(step.written, read_parts(list(json, "written")));
  if (step.kind == "kernel") CUCO_TRY(read_launch(json, maps, step));
  return step;
}

}  // namespace

Json to_json(const BlockRecord& record) {
  Json out = {{"buffers", Json::array()},
              {"maps", Json::array()},
              {"steps", Json::array()},
              {"dropped_steps", record.dropped_steps},
              {"unnamed_bytes", record.unnamed_bytes}};
  for (const TracedBuffer& buffer : record.buffers)
    out["buffers"].push_back({buffer.number, buffer.bytes, buffer.device, buffer.process});
  for (const BlockMap& map : record.maps)
    out["maps"].push_back(map_json(map));
  for (const TracedStep& step : record.steps)
    out["steps"].push_back(step_json(step));
  return out;
}

Result<BlockRecord> read_block_record(const Json& json) {
  BlockRecord record;
  for (const Json& row : list(json, "buffers")) {
    const auto words = numbers(row, 4);
    if (!words) return broken("buffer");
    record.buffers.push_back({(*words)[0], (*words)[1], static_cast<std::int32_t>((*words)[2]),
                              static_cast<std::uint32_t>((*words)[3])});
  }
  for (const Json& map : list(json, "maps")) {
    CUCO_TRY_ASSIGN(BlockMap read, read_map(map));
    record.maps.push_back(std::move(read));
  }
  for (const Json& step : list(json, "steps")) {
    CUCO_TRY_ASSIGN(TracedStep read, read_step(step, record.maps));
    record.steps.push_back(std::move(read));
  }
  CUCO_TRY_ASSIGN(const std::int64_t dropped, integer_member(json, "dropped_steps"));
  CUCO_TRY_ASSIGN(const std::int64_t unnamed, integer_member(json, "unnamed_bytes"));
  record.dropped_steps = static_cast<std::uint64_t>(dropped);
  record.unnamed_bytes = static_cast<std::uint64_t>(unnamed);
  return record;
}

}  // namespace cuco::vcluster
