// SPDX-License-Identifier: Apache-2.0
/// \file
/// The templates that go into exported folders.
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace cuco::report {

/// The template of that name with "{{key}}" replaced by values, which may themselves contain
/// "{{…}}".
[[nodiscard]] std::string filled(std::string_view name,
                                 const std::map<std::string, std::string>& values);

}  // namespace cuco::report
