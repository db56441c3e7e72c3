// SPDX-License-Identifier: Apache-2.0
#include "dashboard/admission.h"

#include <algorithm>
#include <array>
#include <charconv>

#include <fmt/format.h>

#include "base/text.h"

namespace cuco::dashboard {
namespace {

constexpr std::string_view kCookie = "cuco_token";

/// Takes as long for a wrong token as for the right one.
bool same(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  unsigned difference = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    difference |= static_cast<unsigned char>(a[i]) ^ static_cast<unsigned char>(b[i]);
  return difference == 0;
}

std::string_view token_of(std::string_view cookies) {
  for (std::string_view cookie : split(cookies, ';')) {
    cookie = trim(cookie);
    if (cookie.starts_with(kCookie) && cookie.substr(kCookie.size()).starts_with('='))
      return cookie.substr(kCookie.size() + 1);
  }
  return {};
}

bool is_own_name(std::string_view host, const Door& door) {
  const std::array<std::string, 4> names{"127.0.0.1", "localhost", "[::1]", door.address};
  return std::ranges::any_of(names, [&](const std::string& name) {
    return host == fmt::format("{}:{}", name, door.port) || (door.port == 80 && host == name);
  });
}

}  // namespace

bool is_loopback(std::string_view address) {
  if (address == "localhost" || address == "::1") return true;
  if (!address.starts_with("127.")) return false;
  const auto parts = split(address, '.');
  return parts.size() == 4 && std::ranges::all_of(parts, [](std::string_view part) {
           int value = -1;
           const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), value);
           return error == std::errc() && end == part.data() + part.size() && value >= 0 &&
                  value < 256;
         });
}

Admission admit(const Caller& caller, const Door& door) {
  const bool reads = caller.method == "GET" || caller.method == "HEAD";
  if (!reads && (caller.method != "POST" || !caller.takes_post)) return Admission::WrongMethod;
  // Whoever has the token reached this machine by a name that we need not know.
  if (door.token.empty() && !is_own_name(caller.host, door)) return Admission::WrongHost;
  // A link that somebody followed is welcome; a request that a foreign page made is not.
  if (!caller.origin.empty() && caller.origin != "http://" + caller.host)
    return Admission::OtherSite;
  if (caller.fetch_site == "cross-site" || caller.fetch_site == "same-site")
    return Admission::OtherSite;
  // Browsers name the origin of every POST: one without is not from a page of ours.
  if (!reads && caller.origin.empty()) return Admission::OtherSite;
  if (door.token.empty() || same(token_of(caller.cookie), door.token)) return Admission::Welcome;
  return reads && same(caller.token, door.token) ? Admission::NewWithToken : Admission::NoToken;
}

std::string cookie_of(const Door& door) {
  return fmt::format("{}={}; HttpOnly; SameSite=Strict; Path=/", kCookie, door.token);
}

}  // namespace cuco::dashboard
