// SPDX-License-Identifier: Apache-2.0
/// \file
/// A program and the headers beside it as one text: what lies in a header can be changed then, too.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "program/source.h"

namespace cuco::program {

/// The header that `includer` names in quotes, with a path of its own; nothing for one that stays
/// an #include.
using FindHeader =
    std::function<std::optional<File>(const std::string& includer, std::string_view name)>;

/// The text in which every found header stands where it was included, headers of headers too. What
/// "#pragma once" says holds on. InvalidInput for headers that include themselves without end, and
/// where more than `limit` bytes would come of it.
[[nodiscard]] Result<std::string> joined(const File& file,
                                         const FindHeader& find,
                                         std::size_t limit = std::size_t{4} << 20U);

}  // namespace cuco::program
