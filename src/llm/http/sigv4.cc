// SPDX-License-Identifier: Apache-2.0
#include "llm/http/sigv4.h"

#include <chrono>

#include <fmt/format.h>

#include "base/hash.h"

namespace cuco::llm {
namespace {

std::string bytes_of(const Digest& digest) {
  return {digest.begin(), digest.end()};
}

/// RFC 2104 over SHA-256.
std::string hmac(std::string key, std::string_view text) {
  constexpr std::size_t kBlock = 64;
  if (key.size() > kBlock) key = bytes_of(sha256(key));
  key.resize(kBlock, '\0');
  std::string inner, outer;
  for (const char c : key) {
    inner += static_cast<char>(c ^ 0x36);
    outer += static_cast<char>(c ^ 0x5C);
  }
  inner += text;
  return bytes_of(sha256(outer + bytes_of(sha256(inner))));
}

std::string hex(std::string_view bytes) {
  std::string text;
  for (const char c : bytes)
    text += fmt::format("{:02x}", static_cast<unsigned char>(c));
  return text;
}

/// "20150830T123600Z"
std::string time_text(Nanoseconds wall) {
  using namespace std::chrono;
  const sys_seconds time{duration_cast<seconds>(wall)};
  const auto day = floor<days>(time);
  const year_month_day date{day};
  const hh_mm_ss clock{time - day};
  return fmt::format("{:04}{:02}{:02}T{:02}{:02}{:02}Z", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                     clock.hours().count(), clock.minutes().count(), clock.seconds().count());
}

}  // namespace

std::string percent_encoded(std::string_view text, bool keep_slashes) {
  std::string result;
  for (const char c : text) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '-' || c == '.' || c == '_' || c == '~' || (c == '/' && keep_slashes);
    if (plain) {
      result += c;
    } else {
      result += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return result;
}

std::map<std::string, std::string> sign(const SignedRequest& request,
                                        std::string_view region,
                                        std::string_view service,
                                        const Credentials& credentials,
                                        Nanoseconds wall) {
  const std::string time = time_text(wall);
  const std::string day = time.substr(0, 8);
  auto headers = request.headers;
  headers["host"] = request.host;
  headers["x-amz-date"] = time;
  if (!credentials.session_token.empty()) {
    headers["x-amz-security-token"] = credentials.session_token;
  }
  std::string canonical, names;
  for (const auto& [name, value] : headers) {
    canonical += fmt::format("{}:{}\n", name, value);
    names += (names.empty() ? "" : ";") + name;
  }
  // The path is encoded once more: that is how all services but S3 want it.
  const std::string whole =
      fmt::format("{}\n{}\n{}\n{}\n{}\n{}", request.method, percent_encoded(request.path, true),
                  request.query, canonical, names, to_hex(sha256(request.body)));
  const std::string scope = fmt::format("{}/{}/{}/aws4_request", day, region, service);
  const std::string to_sign =
      fmt::format("AWS4-HMAC-SHA256\n{}\n{}\n{}", time, scope, to_hex(sha256(whole)));
  std::string key = hmac("AWS4" + credentials.key, day);
  for (const std::string_view part : {region, service, std::string_view("aws4_request")})
    key = hmac(std::move(key), part);
  std::map<std::string, std::string> made{{"x-amz-date", time}};
  if (!credentials.session_token.empty()) {
    made["x-amz-security-token"] = credentials.session_token;
  }
  made["Authorization"] =
      fmt::format("AWS4-HMAC-SHA256 Credential={}/{}, SignedHeaders={}, Signature={}",
                  credentials.access_id, scope, names, hex(hmac(std::move(key), to_sign)));
  return made;
}

}  // namespace cuco::llm
