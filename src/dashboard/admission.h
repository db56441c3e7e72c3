// SPDX-License-Identifier: Apache-2.0
/// \file
/// Who gets an answer. On loopback every program of this machine that reaches the port; elsewhere
/// only who knows the token. Pages of other sites never do.
#pragma once

#include <string>
#include <string_view>

namespace cuco::dashboard {

/// What decides about a request.
struct Caller {
  std::string method;
  std::string host;        ///< The Host header.
  std::string fetch_site;  ///< Sec-Fetch-Site; empty where a browser does not send it.
  std::string origin;
  std::string cookie;
  std::string token;        ///< Of the query.
  bool takes_post = false;  ///< The path is one that something can be posted to.
};

struct Door {
  std::string address = "127.0.0.1";
  int port = 0;
  std::string token;  ///< Empty: none is needed.
};

enum class Admission {
  Welcome,
  NewWithToken,  ///< Gets a cookie, so that the token leaves the address bar.
  WrongMethod,
  WrongHost,  ///< A foreign name that resolves to this machine (DNS rebinding).
  OtherSite,
  NoToken,
};

[[nodiscard]] Admission admit(const Caller& caller, const Door& door);

/// 127.0.0.0/8, ::1 or localhost.
[[nodiscard]] bool is_loopback(std::string_view address);

/// "cuco_token=…; HttpOnly; SameSite=Strict; Path=/".
[[nodiscard]] std::string cookie_of(const Door& door);

}  // namespace cuco::dashboard
