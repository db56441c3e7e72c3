// SPDX-License-Identifier: Apache-2.0
#include "shims/wire/call_site.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string_view>
#include <vector>

#include <execinfo.h>
#include <link.h>

namespace cuco::wire {
namespace {

struct Range {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

/// The libraries of ours that are loaded.
struct Ours {
  bool wanted = std::getenv(kCheckVariable) != nullptr;
  std::vector<Range> ranges;

  Ours() {
    if (!wanted) return;
    ::dl_iterate_phdr(
        [](dl_phdr_info* info, std::size_t, void* self) {
          const std::string_view name = info->dlpi_name;
          constexpr std::array<std::string_view, 4> kNames = {"libcudart.so", "libcuda.so",
                                                              "libnccl.so", "libcuco"};
          const bool is_ours = std::ranges::any_of(kNames, [&](std::string_view part) {
            return name.find(part) != std::string_view::npos;
          });
          if (!is_ours) return 0;
          for (int i = 0; i < info->dlpi_phnum; ++i) {
            const auto& part = info->dlpi_phdr[i];
            if (part.p_type != PT_LOAD) continue;
            const std::uint64_t begin = info->dlpi_addr + part.p_vaddr;
            static_cast<Ours*>(self)->ranges.push_back({begin, begin + part.p_memsz});
          }
          return 0;
        },
        this);
  }
  [[nodiscard]] bool contain(std::uint64_t address) const {
    return std::ranges::any_of(
        ranges, [&](const Range& range) { return address >= range.begin && address < range.end; });
  }
};

}  // namespace

CallSite current_call_site() {
  static const Ours kOurs;
  if (!kOurs.wanted) return {};
  std::array<void*, 24> frames{};
  const int depth = ::backtrace(frames.data(), static_cast<int>(frames.size()));
  for (int i = 0; i < depth; ++i) {
    const auto address = reinterpret_cast<std::uint64_t>(frames[static_cast<std::size_t>(i)]);
    if (kOurs.contain(address)) continue;
    const auto outer =
        i + 1 < depth ? reinterpret_cast<std::uint64_t>(frames[static_cast<std::size_t>(i) + 1])
                      : 0;
    return {address, outer};
  }
  return {};
}

}  // namespace cuco::wire
