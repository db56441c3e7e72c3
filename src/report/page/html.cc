// SPDX-License-Identifier: Apache-2.0
#include "report/page/html.h"

#include <optional>

#include <fmt/format.h>

namespace cuco::report {

std::optional<std::string_view> resource(std::string_view name);

std::string escaped(std::string_view text) {
  std::string result;
  for (const char letter : text) {
    switch (letter) {
      case '&':
        result += "&amp;";
        break;
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      case '"':
        result += "&quot;";
        break;
      case '\'':
        result += "&#39;";
        break;
      default:
        result += letter;
    }
  }
  return result;
}

std::string framed(std::string_view title, std::string_view body, bool live) {
  return fmt::format(
      "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n{}"
      "<title>{}</title>\n<style>\n{}</style></head>\n<body><main>\n{}</main></body></html>\n",
      live ? "<meta http-equiv=\"refresh\" content=\"3\">\n" : "", escaped(title),
      *resource("style.css"), body);
}

}  // namespace cuco::report
