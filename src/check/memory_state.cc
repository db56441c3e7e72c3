// SPDX-License-Identifier: Apache-2.0
#include "check/memory_state.h"

#include <algorithm>
#include <bit>
#include <utility>

#include <fmt/format.h>

namespace cuco::check {
namespace {

/// Calls f(word index, mask) for every 64-bit word that bits [first, first + count) touch.
template <typename F>
void for_words(std::uint64_t first, std::uint64_t count, F&& f) {
  while (count > 0) {
    const std::uint64_t offset = first % 64;
    const std::uint64_t here = std::min<std::uint64_t>(64 - offset, count);
    const std::uint64_t ones = here == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << here) - 1;
    if (!f(first / 64, ones << offset)) return;
    first += here;
    count -= here;
  }
}

}  // namespace

std::string MemoryState::describe(const Block& block) {
  return fmt::format("{} bytes at {:#x}, {}{}", block.bytes, block.base, block.info.what,
                     block.info.rank >= 0 ? fmt::format(" by rank {}", block.info.rank) : "");
}

void MemoryState::allocate(Address base, std::uint64_t bytes, AllocationInfo info) {
  // Freed blocks that the new one covers are history.
  auto at = blocks_.upper_bound(base);
  if (at != blocks_.begin() && std::prev(at)->second.base + std::prev(at)->second.bytes > base)
    --at;
  while (at != blocks_.end() && at->first < base + std::max<std::uint64_t>(bytes, 1)) {
    at = blocks_.erase(at);
  }
  recent_ = {};
  Block block;
  block.base = base;
  block.bytes = bytes;
  block.info = std::move(info);
  block.all_written = block.info.written || bytes == 0;
  if (!block.all_written) {
    block.written.assign((bytes + 63) / 64, 0);
    block.unwritten = bytes;
  }
  blocks_[base] = std::move(block);
}

void MemoryState::free(Address base, Site freed_at) {
  const auto at = blocks_.find(base);
  if (at == blocks_.end()) return;
  at->second.freed = true;
  at->second.freed_at = std::move(freed_at);
  at->second.written = {};
}

MemoryState::Block* MemoryState::lookup(Address address) {
  Block*& recent = recent_[address >> 16U & (recent_.size() - 1)];
  if (recent != nullptr && address - recent->base < recent->bytes) return recent;
  auto at = blocks_.upper_bound(address);
  if (at == blocks_.begin()) return nullptr;
  --at;
  if (address - at->second.base >= at->second.bytes) return nullptr;
  recent = &at->second;
  return recent;
}

const MemoryState::Block* MemoryState::find(Address address) const {
  auto at = blocks_.upper_bound(address);
  if (at == blocks_.begin()) return nullptr;
  --at;
  return address - at->second.base < at->second.bytes ? &at->second : nullptr;
}

void MemoryState::mark_written(Address address, std::uint64_t bytes) {
  while (bytes > 0) {
    Block* block = lookup(address);
    if (block == nullptr) return;
    const std::uint64_t first = address - block->base;
    const std::uint64_t count = std::min(bytes, block->bytes - first);
    if (!block->all_written && !block->freed) {
      for_words(first, count, [&](std::uint64_t word, std::uint64_t mask) {
        const std::uint64_t fresh = mask & ~block->written[word];
        block->written[word] |= fresh;
        block->unwritten -= static_cast<std::uint64_t>(std::popcount(fresh));
        return true;
      });
      if (block->unwritten == 0) {
        block->all_written = true;
        block->written = {};
      }
    }
    address += count;
    bytes -= count;
  }
}

void MemoryState::mark_unwritten(Address address, std::uint64_t bytes) {
  while (bytes > 0) {
    Block* block = lookup(address);
    if (block == nullptr) return;
    const std::uint64_t first = address - block->base;
    const std::uint64_t count = std::min(bytes, block->bytes - first);
    if (!block->freed) {
      if (std::exchange(block->all_written, false))
        block->written.assign((block->bytes + 63) / 64, ~std::uint64_t{0});
      for_words(first, count, [&](std::uint64_t word, std::uint64_t mask) {
        block->unwritten += static_cast<std::uint64_t>(std::popcount(mask & block->written[word]));
        block->written[word] &= ~mask;
        return true;
      });
    }
    address += count;
    bytes -= count;
  }
}

const MemoryState::Block* MemoryState::nearest(Address address) const {
  const auto after = blocks_.upper_bound(address);
  const Block* below = after == blocks_.begin() ? nullptr : &std::prev(after)->second;
  const Block* above = after == blocks_.end() ? nullptr : &after->second;
  constexpr std::uint64_t kNear = 1U << 20U;
  const std::uint64_t past = below == nullptr ? kNear : address - (below->base + below->bytes);
  const std::uint64_t before = above == nullptr ? kNear : above->base - address;
  // Most indices run too far, few start too early.
  if (past < kNear && past / 16 <= before) return below;
  return before < kNear ? above : nullptr;
}

MemoryProblem MemoryState::outside(Address address) const {
  MemoryProblem problem{MemoryProblem::Kind::OutOfBounds, address, "no allocation is near"};
  const Block* block = nearest(address);
  if (block == nullptr) return problem;
  problem.detail =
      address >= block->base
          ? fmt::format("{} bytes past the end of {} bytes", address - block->base - block->bytes,
                        block->bytes)
          : fmt::format("{} bytes before {} bytes", block->base - address, block->bytes);
  return problem;
}

std::optional<MemoryProblem> MemoryState::check(Address address, std::uint64_t bytes, bool reads) {
  const Block* block = lookup(address);
  if (block == nullptr) return outside(address);
  const std::uint64_t first = address - block->base;
  if (block->freed) {
    return MemoryProblem{MemoryProblem::Kind::Freed, address, "freed before"};
  }
  if (first + bytes > block->bytes) return outside(block->base + block->bytes);
  if (!reads || block->all_written) return std::nullopt;
  std::optional<MemoryProblem> problem;
  for_words(first, bytes, [&](std::uint64_t word, std::uint64_t mask) {
    const std::uint64_t missing = mask & ~block->written[word];
    if (missing == 0) return true;
    const std::uint64_t byte = word * 64 + static_cast<std::uint64_t>(std::countr_zero(missing));
    problem = MemoryProblem{MemoryProblem::Kind::Uninitialised, block->base + byte,
                            fmt::format("byte {} of {} was never written", byte, block->bytes)};
    return false;
  });
  return problem;
}

bool MemoryState::is_fine(Address address, std::uint64_t bytes, bool reads) {
  const Block* block = lookup(address);
  if (block == nullptr || block->freed || address - block->base + bytes > block->bytes)
    return false;
  if (!reads || block->all_written) return true;
  bool fine = true;
  for_words(address - block->base, bytes, [&](std::uint64_t word, std::uint64_t mask) {
    fine = (mask & ~block->written[word]) == 0;
    return fine;
  });
  return fine;
}

bool MemoryState::is_padding(Address address, std::uint64_t bytes) {
  constexpr std::uint64_t kMost = 7;    // between members of one structure
  constexpr std::uint64_t kSmall = 64;  // a structure, not an array
  const Block* block = lookup(address);
  const std::uint64_t first = address - (block == nullptr ? 0 : block->base);
  if (block == nullptr || block->freed || first + bytes > block->bytes) return false;
  std::uint64_t holes = 0;
  std::uint64_t length = 0;  // of every hole
  std::uint64_t stride = 0;  // from one to the next
  std::uint64_t last = 0;    // where the last begins
  for (std::uint64_t i = 0; i < bytes; ++i) {
    const auto is_written = [&](std::uint64_t byte) {
      return block->all_written || (block->written[byte / 64] >> (byte % 64) & 1U) != 0;
    };
    if (is_written(first + i)) continue;
    std::uint64_t end = i;
    while (end < bytes && !is_written(first + end))
      ++end;
    if (end - i > kMost || (holes > 0 && end - i != length)) return false;
    if (holes == 1) stride = i - last;
    if (holes > 1 && i - last != stride) return false;
    length = end - i;
    last = i;
    ++holes;
    i = end;
  }
  if (holes == 1) return block->bytes <= kSmall && last + length == bytes;
  return stride >= 8 && stride % 4 == 0 && last < stride * holes && last + length + stride > bytes;
}

std::vector<const MemoryState::Block*> MemoryState::live() const {
  std::vector<const Block*> list;
  for (const auto& [base, block] : blocks_) {
    if (!block.freed && !block.info.internal && !block.info.what.starts_with(kVariable)) {
      list.push_back(&block);
    }
  }
  return list;
}

void MemoryState::copy_state(Address to, Address from, std::uint64_t bytes) {
  // Byte by byte only where the source has holes.
  const Block* source = find(from);
  if (source == nullptr || source->freed || source->all_written ||
      from + bytes > source->base + source->bytes) {
    return mark_written(to, bytes);
  }
  std::uint64_t run = 0;
  for (std::uint64_t i = 0; i <= bytes; ++i) {
    const std::uint64_t byte = from - source->base + i;
    const bool is_written = i < bytes && (source->written[byte / 64] >> (byte % 64) & 1U) != 0;
    if (is_written) {
      ++run;
    } else if (run != 0) {
      mark_written(to + i - run, run);
      run = 0;
    }
  }
}

std::string MemoryState::describe(Address address) const {
  const Block* block = find(address);
  return block == nullptr ? std::string() : describe(*block);
}

std::uint64_t MemoryState::shadow_bytes() const {
  std::uint64_t bytes = 0;
  for (const auto& [base, block] : blocks_) {
    bytes += block.written.size() * sizeof(std::uint64_t);
  }
  return bytes;
}

}  // namespace cuco::check
