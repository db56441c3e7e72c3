// SPDX-License-Identifier: Apache-2.0
/// \file
/// Records which blocks read and write which bytes of which buffer: see record/block_record.h. An
/// observer, made only where somebody asked for it.
///
/// Most launches do what another one has done: what all blocks do to one buffer is kept once.
/// Memory is bounded; what is left out is counted.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "vcluster/core/work.h"
#include "vcluster/record/block_record.h"
#include "vgpu/gpu/gpu.h"
#include "vgpu/gpu/observer.h"

namespace cuco::vcluster {

struct KernelOperation;

/// What a stream did beside kernels.
struct MovedBytes {
  const char* kind = "";  ///< See TracedStep.
  std::string name;
  std::int32_t device = -1;
  VTime started = 0;
  VTime finished = 0;                    ///< May lie ahead.
  std::vector<ByteRange> read, written;  ///< Addresses.
};

class BlockTrace final : public vgpu::AccessObserver {
 public:
  /// A buffer, and where it begins.
  struct Held {
    std::uint64_t base = 0;
    TracedBuffer buffer;
  };
  /// Which buffer holds an address; nothing: none.
  using Holder = std::function<std::optional<Held>(std::uint64_t address)>;

  /// Before the first kernel runs; memory and buffers are made after who observes them.
  void know(const vgpu::Memory& memory, Holder holder) {
    memory_ = &memory;
    holder_ = std::move(holder);
  }

  /// The work's kernel is this grid of the device.
  void start_grid(const Work& work,
                  std::int32_t device,
                  vgpu::GridId grid,
                  const KernelOperation& kernel,
                  const vgpu::KernelInfo& info);
  void add(const Work& work, const MovedBytes& moved);
  /// As if nothing had happened so far; buffers keep their numbers.
  void forget();
  /// Steps in the order in which they ended.
  [[nodiscard]] const BlockRecord& record() const { return record_; }

  void on_access(const vgpu::Warp& warp,
                 const vgpu::Op& op,
                 const vgpu::AccessEvent& event) override;
  void on_rows(const vgpu::Warp& warp, std::span<const vgpu::RowEvent> rows) override;
  void on_grid_end(const vgpu::Grid& grid) override;

 private:
  /// Of a block and a buffer, while the grid runs.
  struct Gathered {
    std::uint64_t buffer = 0;
    ByteSet read, written;
  };
  struct Running {
    TracedStep step;
    std::vector<std::vector<Gathered>> blocks;
    std::map<std::uint64_t, ChunkTimes> times;  ///< By buffer.
  };
  /// Where an address lies: in [begin, end), which is a buffer, or in none.
  struct Place {
    std::uint64_t begin = 1;
    std::uint64_t end = 0;
    std::uint64_t buffer = 0;
  };
  using GridKey = std::pair<std::int32_t, vgpu::GridId>;

  Running* running(const vgpu::Warp& warp);
  const Place& place_of(std::uint64_t address);
  std::vector<TracedPart> parts_of(std::span<const ByteRange> ranges);
  void note(Running& grid, const vgpu::Warp& warp, bool reads, bool writes, ByteRange range);
  static Gathered& gathered(Running& grid, std::uint64_t block, std::uint64_t buffer);
  static void note_time(
      Running& grid, const Place& place, bool reads, bool writes, ByteRange range, VTime at);
  /// Makes the maps of a launch that is over; false: there is no room for them.
  bool keep_maps(Running& grid);
  std::size_t keep(BlockMap map);
  void push(TracedStep step);

  const vgpu::Memory* memory_ = nullptr;
  Holder holder_;
  BlockRecord record_;
  std::map<std::uint64_t, std::size_t> buffers_;                    ///< By number: in the record.
  std::unordered_multimap<std::uint64_t, std::size_t> known_maps_;  ///< By hash.
  std::size_t kept_rows_ = 0;
  std::map<GridKey, Running> running_;
  const vgpu::Grid* last_grid_ = nullptr;
  Running* last_running_ = nullptr;
  Place last_place_;
};

}  // namespace cuco::vcluster
