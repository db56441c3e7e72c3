// SPDX-License-Identifier: Apache-2.0
/// \file
/// How emitted code is spelled.
#pragma once

#include <string>
#include <string_view>

#include "expert/emit/emit.h"

namespace cuco::expert::emit {

/// "cuco::Path::Lsa".
[[nodiscard]] std::string path_of(design::Backend backend);

/// "state.gather_recv" for "state.gather": a variable beside the site.
[[nodiscard]] std::string beside(const std::string& site, std::string_view suffix);

/// "gather" of "state.gather" or "state->gather".
[[nodiscard]] std::string last_name(const std::string& expression);

/// The buffer that begins at `pointer`, with a window beside the site.
[[nodiscard]] SharedBuffer shared_buffer(const Expressions& expressions,
                                         const std::string& pointer,
                                         std::string_view suffix);

/// The text of a header that goes with programs.
[[nodiscard]] std::string_view header(std::string_view file);

}  // namespace cuco::expert::emit
