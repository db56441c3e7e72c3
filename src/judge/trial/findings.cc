// SPDX-License-Identifier: Apache-2.0
#include "judge/trial/findings.h"

#include <algorithm>

#include "targets/virtual/run_trace.h"

namespace cuco::judge {
namespace {

candidate::Site site_of(const check::Site& site) {
  return {.file = as_in_the_source(site.file),
          .line = site.line,
          .kernel = site.kernel,
          .rank = site.rank,
          .block = site.block,
          .thread = site.thread};
}

}  // namespace

std::string as_in_the_source(std::string text) {
  constexpr std::string_view kMarker = "/cuco-build.";
  for (std::size_t at = text.find(kMarker); at != std::string::npos; at = text.find(kMarker)) {
    const std::size_t begin = text.find_last_of(" \n(", at) + 1;
    const std::size_t end = text.find('/', at + 1);
    if (end == std::string::npos) break;
    text.erase(begin, end + 1 - begin);
  }
  constexpr std::string_view kMangled = " _Z";
  for (std::size_t at = text.find(kMangled); at != std::string::npos;
       at = text.find(kMangled, at + 1)) {
    const std::size_t end = std::min(text.find_first_of(" \n:,.", at + 1), text.size());
    text.replace(at + 1, end - at - 1, targets::kernel_name(text.substr(at + 1, end - at - 1)));
  }
  return text;
}

std::vector<candidate::Finding> for_verdict(const std::vector<check::Finding>& findings) {
  std::vector<candidate::Finding> list;
  for (const check::Finding& finding : findings) {
    if (finding.kind == check::Kind::Leak) continue;
    candidate::Finding item;
    item.kind = std::string(check::name(finding.kind));
    item.message = finding.message;
    for (const std::string& note : finding.notes)
      item.message += "; " + as_in_the_source(note);
    item.where = site_of(finding.where);
    if (finding.other) item.other = site_of(*finding.other);
    item.hint = finding.hint;
    // One pair of lines is one thing to change, whichever ranks and threads were seen at it.
    const auto is_same = [&](const candidate::Finding& known) {
      const auto same = [](const candidate::Site& a, const candidate::Site& b) {
        return a.file == b.file && a.line == b.line && a.kernel == b.kernel;
      };
      return known.kind == item.kind && same(known.where, item.where) &&
             known.other.has_value() == item.other.has_value() &&
             (!known.other || same(*known.other, *item.other));
    };
    if (std::ranges::none_of(list, is_same)) list.push_back(std::move(item));
  }
  return list;
}

}  // namespace cuco::judge
