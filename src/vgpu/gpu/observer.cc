// SPDX-License-Identifier: Apache-2.0
#include "vgpu/gpu/observer.h"

#include <array>

namespace cuco::vgpu {

void AccessObserver::on_rows(const Warp& warp, std::span<const RowEvent> rows) {
  for (const RowEvent& row : rows) {
    std::array<Address, 32> addresses;
    for (std::uint32_t l = 0; l < addresses.size(); ++l)
      addresses[l] = row.first + (row.same ? 0 : l * row.bytes);
    on_access(warp, *row.op,
              {.kind = row.kind,
               .space = row.space,
               .bytes = row.bytes,
               .lanes = ~0U,
               .addresses = addresses});
  }
}

}  // namespace cuco::vgpu
