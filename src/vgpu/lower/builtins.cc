// SPDX-License-Identifier: Apache-2.0
#include "vgpu/lower/builtins.h"

#include <array>
#include <bit>
#include <cctype>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "vgpu/exec/exec.h"
#include "vgpu/gpu/grid.h"
#include "vgpu/memory/access.h"

namespace cuco::vgpu {

namespace {

/// Of malloc or free of one lane: they come one after the other (bench/sanity, heap).
constexpr std::uint32_t kHeapCycles = 2500;

constexpr std::array<std::string_view, 4> kNames = {"vprintf", "__assertfail", "malloc", "free"};
enum Builtin : std::int32_t { Vprintf, AssertFail, Malloc, Free };
constexpr std::size_t kMaxText = 1U << 16U;

/// Server memory behind a byte of the thread, or null: printf must not trap.
const std::byte* peek(const Warp& w, unsigned lane, Address address) {
  if (is_shared(address)) {
    const Address offset = address - kSharedWindow;
    return offset < w.block->shared.size() ? w.block->shared.data() + offset : nullptr;
  }
  if (is_local(address)) {
    const Address offset = address - kLocalWindow;
    return offset < w.local_stride ? w.local.data() + std::size_t{lane} * w.local_stride + offset
                                   : nullptr;
  }
  return w.memory->valid(address, 1) ? Memory::at(address) : nullptr;
}

bool read_bytes(const Warp& w, unsigned lane, Address address, void* out, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes; ++i) {
    const std::byte* from = peek(w, lane, address + i);
    if (from == nullptr) return false;
    static_cast<std::byte*>(out)[i] = *from;
  }
  return true;
}

std::string read_string(const Warp& w, unsigned lane, Address address) {
  std::string text;
  while (text.size() < kMaxText) {
    char c = 0;
    if (!read_bytes(w, lane, address + text.size(), &c, 1)) return "(invalid)";
    if (c == 0) break;
    text.push_back(c);
  }
  return text;
}

/// One argument of a call, from the caller's frame.
std::uint64_t argument(const Warp& w, const CallPlan& plan, unsigned lane, std::size_t index) {
  if (index >= plan.arguments.size()) return 0;
  const FrameSlot slot = plan.arguments[index];
  const std::size_t base = w.splits[w.current].frame->local_base;
  std::uint64_t value = 0;
  std::memcpy(&value, w.local.data() + std::size_t{lane} * w.local_stride + base + slot.offset,
              std::min<std::size_t>(slot.bytes, sizeof value));
  return value;
}

void set_result(Warp& w, const CallPlan& plan, unsigned lane, std::uint64_t value) {
  if (plan.returns.empty()) return;
  const FrameSlot slot = plan.returns[0];
  const std::size_t base = w.splits[w.current].frame->local_base;
  std::memcpy(w.local.data() + std::size_t{lane} * w.local_stride + base + slot.offset, &value,
              std::min<std::size_t>(slot.bytes, sizeof value));
}

/// A conversion of the format string: "%-08.3lld" and what it consumes.
struct Conversion {
  std::string flags;  ///< Everything between % and the length modifier, `*` already replaced.
  bool is_long = false;
  char letter = 0;
};

/// snprintf with a specification built by us from checked characters.
template <typename T>
std::string print_one(const Conversion& conversion, const char* length, T value) {
  const std::string spec = "%" + conversion.flags + length + conversion.letter;
  std::array<char, 512> buffer{};
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
  const int written = std::snprintf(buffer.data(), buffer.size(), spec.c_str(), value);
#pragma GCC diagnostic pop
  if (written < 0) return {};
  return {buffer.data(),
          std::min<std::size_t>(static_cast<std::size_t>(written), buffer.size() - 1)};
}

/// Walks the packed argument buffer: 4-byte values at 4-byte, 8-byte values at 8-byte boundaries.
class Arguments {
 public:
  Arguments(const Warp& w, unsigned lane, Address base) : w_(w), lane_(lane), base_(base) {}
  template <typename T>
  T next() {
    offset_ = (offset_ + sizeof(T) - 1) / sizeof(T) * sizeof(T);
    T value{};
    (void)read_bytes(w_, lane_, base_ + offset_, &value, sizeof value);
    offset_ += sizeof(T);
    return value;
  }

 private:
  const Warp& w_;
  unsigned lane_;
  Address base_;
  Address offset_ = 0;
};

std::string convert(const Warp& w, unsigned lane, const Conversion& c, Arguments& arguments) {
  switch (c.letter) {
    case 'd':
    case 'i':
      return c.is_long ? print_one(c, "ll", static_cast<long long>(arguments.next<std::int64_t>()))
                       : print_one(c, "", arguments.next<std::int32_t>());
    case 'u':
    case 'o':
    case 'x':
    case 'X':
      return c.is_long ? print_one(c, "ll",
                                   static_cast<unsigned long long>(arguments.next<std::uint64_t>()))
                       : print_one(c, "", arguments.next<std::uint32_t>());
    case 'c':
      return print_one(c, "", arguments.next<std::int32_t>());
    case 'p':
      return print_one(c, "", reinterpret_cast<void*>(arguments.next<std::uint64_t>()));
    case 's': {
      const std::string text = read_string(w, lane, arguments.next<std::uint64_t>());
      const std::string spec = "%" + c.flags + "s";
      return c.flags.empty() ? text : print_one(c, "", text.c_str());
    }
    default:
      return print_one(c, "", arguments.next<double>());
  }
}

/// Reads flags, width, precision and length from the format at `at`; leaves `at` behind the letter.
Conversion read_conversion(const std::string& format, std::size_t& at, Arguments& arguments) {
  Conversion out;
  while (at < format.size()) {
    const char c = format[at++];
    if (std::strchr("-+ #0123456789.", c) != nullptr && out.flags.size() < 32) {
      out.flags.push_back(c);
    } else if (c == '*') {
      out.flags += std::to_string(std::clamp(arguments.next<std::int32_t>(), -400, 400));
    } else if (c == 'l' || c == 'z' || c == 'j' || c == 't') {
      out.is_long = true;
    } else if (c != 'h') {
      out.letter = c;
      break;
    }
  }
  return out;
}

void run_assert(Warp& w, const Op& op, const CallPlan& plan, unsigned lane) {
  const std::string expression = read_string(w, lane, argument(w, plan, lane, 0));
  const std::string file = read_string(w, lane, argument(w, plan, lane, 1));
  const auto line = static_cast<std::uint32_t>(argument(w, plan, lane, 2));
  const std::string function = read_string(w, lane, argument(w, plan, lane, 3));
  const auto* tid = reinterpret_cast<const std::uint32_t*>(w.grid->thread_indices.data()) +
                    std::size_t{w.index} * 3 * kLanes + lane;
  const auto& b = w.block->index;
  // CUDA's own words, for whoever shows them.
  w.raise(op, TrapKind::Assert, lane,
          fmt::format("{}:{}: {}: block: [{},{},{}], thread: [{},{},{}] Assertion `{}` failed.",
                      file, line, function, b[0], b[1], b[2], tid[0], tid[kLanes], tid[2 * kLanes],
                      expression));
}

}  // namespace

std::int32_t find_builtin(std::string_view name) {
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    if (kNames[i] == name) return static_cast<std::int32_t>(i);
  }
  return -1;
}

std::string format_device_printf(
    Warp& w, const Op& /*op*/, unsigned lane, Address format_address, Address argument_address) {
  const std::string format = read_string(w, lane, format_address);
  Arguments arguments(w, lane, argument_address);
  std::string out;
  std::size_t at = 0;
  while (at < format.size() && out.size() < kMaxText) {
    const char c = format[at++];
    if (c != '%') {
      out.push_back(c);
      continue;
    }
    if (at < format.size() && format[at] == '%') {
      out.push_back('%');
      ++at;
      continue;
    }
    const Conversion conversion = read_conversion(format, at, arguments);
    if (conversion.letter == 0 || std::strchr("diuoxXcpsfFeEgGaA", conversion.letter) == nullptr) {
      out += "%" + conversion.flags + conversion.letter;
      continue;
    }
    out += convert(w, lane, conversion, arguments);
  }
  return out;
}

void run_builtin(Warp& w, const Op& op, const CallPlan& plan) {
  for_active(w.active, [&](unsigned lane) {
    if (w.trapped()) return;
    switch (plan.builtin) {
      case Vprintf: {
        const std::string text = format_device_printf(w, op, lane, argument(w, plan, lane, 0),
                                                      argument(w, plan, lane, 1));
        w.grid->scheduler->print(*w.grid, text);
        set_result(w, plan, lane, text.size());
        break;
      }
      case AssertFail:
        run_assert(w, op, plan, lane);
        break;
      case Malloc:
        set_result(w, plan, lane, w.grid->scheduler->heap_allocate(argument(w, plan, lane, 0)));
        break;
      case Free:
        w.grid->scheduler->heap_free(argument(w, plan, lane, 0));
        break;
      default:
        break;
    }
  });
  if (plan.builtin == Malloc || plan.builtin == Free) {
    w.spend(static_cast<std::uint32_t>(std::popcount(w.active)) * kHeapCycles);
  }
  note_progress(w);
}

}  // namespace cuco::vgpu
