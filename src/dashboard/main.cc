// SPDX-License-Identifier: Apache-2.0
// cuco-serve ROOT ADDRESS PORT [RUN…]: shows runs in a browser. Started by `cuco serve`.
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <thread>

#include <fmt/format.h>
#include <httplib.h>

#include "dashboard/admission.h"
#include "dashboard/answers.h"
#include "dashboard/recorder.h"
#include "system/os/kernel.h"
#include "system/os/system_clock.h"

namespace {
using namespace cuco;             // NOLINT: a program's own file
using namespace cuco::dashboard;  // NOLINT

// A browser tab holds one connection and with it a thread; the others must find one, too.
constexpr int kThreads = 48;
constexpr int kMostFollowers = 32;
constexpr std::size_t kLongestRequest = 64 * 1024;

/// Scripts, styles and data come from here and nowhere else; nobody frames the page.
constexpr const char* kPolicy =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
/// Pages without scripts carry their style with them.
constexpr const char* kPlainPolicy =
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action "
    "'none'; frame-ancestors 'none'";

std::string new_token() {
  const auto bytes = system::random_bytes(16);
  if (!bytes) return {};
  std::string text;
  for (const char byte : *bytes)
    text += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  return text;
}

/// Not with set_content: the library would compress it, which takes longer than to send it.
void send(httplib::Response& response, Answer answer) {
  response.status = answer.status;
  const auto body = std::make_shared<const std::string>(std::move(answer.body));
  response.set_content_provider(
      body->size(), answer.type.c_str(),
      [body](std::size_t offset, std::size_t length, httplib::DataSink& sink) {
        return sink.write(body->data() + offset, length);
      });
}

class Server {
 public:
  Server(Site site, Door door, std::vector<std::string> command)
      : site_(std::move(site)), door_(std::move(door)), recorder_(std::move(command), clock_) {
    server_.new_task_queue = [] { return new httplib::ThreadPool(kThreads); };
    server_.set_payload_max_length(kLongestRequest);
    server_.set_keep_alive_max_count(1000);
    server_.set_tcp_nodelay(true);
    server_.set_pre_routing_handler([this](const auto& request, auto& response) {
      return is_admitted(request, response) ? httplib::Server::HandlerResponse::Unhandled
                                            : httplib::Server::HandlerResponse::Handled;
    });
    server_.Get(R"(/api/runs/([^/]+)/events)",
                [this](const auto& request, auto& response) { follow(request, response); });
    server_.Get("/api/recording",
                [this](const auto&, auto& response) { send(response, recording(recorder_)); });
    server_.Post(".*", [this](const auto& request, auto& response) {
      send(response, answer_post(site_, request.path, recorder_));
    });
    server_.Get(".*", [this](const auto& request, auto& response) {
      send(response, answer(site_, request.path));
    });
  }

  /// The port, or nothing if it cannot be had.
  std::optional<int> bind(int wanted) {
    const char* address = door_.address.c_str();
    if (wanted == 0) {
      door_.port = server_.bind_to_any_port(address);
    } else {
      door_.port = server_.bind_to_port(address, wanted) ? wanted : -1;
    }
    return door_.port > 0 ? std::optional(door_.port) : std::nullopt;
  }
  bool listen() { return server_.listen_after_bind(); }

 private:
  bool is_admitted(const httplib::Request& request, httplib::Response& response) {
    response.set_header("Cache-Control", "no-store");
    response.set_header("Content-Security-Policy", site_.web.empty() ? kPlainPolicy : kPolicy);
    response.set_header("X-Content-Type-Options", "nosniff");
    response.set_header("Referrer-Policy", "no-referrer");
    response.set_header("Cross-Origin-Resource-Policy", "same-origin");
    response.set_header("Cross-Origin-Opener-Policy", "same-origin");
    const auto refuse = [&](int status, const char* why) {
      response.status = status;
      response.set_content(why, "text/plain");
      return false;
    };
    switch (admit({request.method, request.get_header_value("Host"),
                   request.get_header_value("Sec-Fetch-Site"), request.get_header_value("Origin"),
                   request.get_header_value("Cookie"), request.get_param_value("token"),
                   takes_post(request.path)},
                  door_)) {
      case Admission::Welcome:
        return true;
      case Admission::NewWithToken:
        response.set_header("Set-Cookie", cookie_of(door_));
        response.set_redirect(request.path.starts_with("//") ? "/" : request.path.c_str());
        return false;
      case Admission::WrongMethod:
        return refuse(405, "runs are shown, not changed; only timelines are recorded");
      case Admission::WrongHost:
        return refuse(403, "this name is not the server's");
      case Admission::OtherSite:
        return refuse(403, "pages of other sites get no answer");
      case Admission::NoToken:
        return refuse(401, "open the address with the token that cuco serve printed");
    }
    return false;
  }

  /// Server-sent events: a change each, from the event that the caller has.
  void follow(const httplib::Request& request, httplib::Response& response) {
    auto folder = find_shown(site_, request.matches[1].str());
    if (!folder) {
      send(response, {404, "text/plain", folder.error().message()});
      return;
    }
    if (followers_.fetch_add(1) >= kMostFollowers) {
      followers_.fetch_sub(1);
      response.set_header("Retry-After", "5");
      send(response, {503, "text/plain", "too many pages are open"});
      return;
    }
    // A browser that reconnects says what it has seen.
    const std::string last = request.has_header("Last-Event-ID")
                                 ? request.get_header_value("Last-Event-ID")
                                 : request.get_param_value("after");
    const auto sequence = std::make_shared<std::int64_t>(std::atoll(last.c_str()));
    const auto quiet = std::make_shared<int>(0);
    response.set_chunked_content_provider(
        "text/event-stream",
        [folder = *std::move(folder), sequence, quiet](std::size_t, httplib::DataSink& sink) {
          constexpr auto kPause = std::chrono::milliseconds(250);
          constexpr int kPausesToComment = 40;
          const auto change = change_since(folder, *sequence);
          std::string text;
          if (change && *change) {
            *sequence = (*change)->sequence;
            text = fmt::format("id: {}\nevent: change\ndata: {}\n\n", *sequence, (*change)->json);
          } else if ((*quiet)++ % kPausesToComment == 0) {
            text = ": still here\n\n";  // shows both sides whether the other one is
          }
          if (!text.empty() && !sink.write(text.data(), text.size())) return false;
          std::this_thread::sleep_for(kPause);
          return true;
        },
        [this](bool) { followers_.fetch_sub(1); });
  }

  Site site_;
  Door door_;
  system::SystemClock clock_;
  Recorder recorder_;
  httplib::Server server_;
  std::atomic<int> followers_ = 0;
};

/// What records a timeline: `cuco report`, which runs candidates as any judgement does.
std::vector<std::string> recording_command(const std::string& root) {
  const auto program = system::find_helper("cuco");
  return {program ? program->string() : "cuco", "--set", "store.folder=" + root, "report"};
}

/// The built pages, if there are any.
WebFiles web_files() {
  const auto page = system::find_data("web/index.html");
  if (!page) return {};
  auto loaded = WebFiles::load(page->parent_path());
  return loaded ? *std::move(loaded) : WebFiles();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) {
    fmt::print(stderr, "cuco-serve: start it with: cuco serve\n");
    return 2;
  }
  Site site{argv[1], {argv + 4, argv + argc}, web_files()};
  Door door{.address = argv[2]};
  const int wanted = std::atoi(argv[3]);
  const bool is_plain = site.web.empty();
  if (!is_loopback(door.address)) {
    door.token = new_token();
    if (door.token.empty()) {
      fmt::print(stderr, "cuco: no random numbers for a token\n");
      return 3;
    }
  }
  const std::string root = site.root.string();
  const Door shown = door;
  Server server(std::move(site), std::move(door), recording_command(root));
  const auto port = server.bind(wanted);
  if (!port) {
    fmt::print(
        stderr,
        "cuco: port {} of {} cannot be had; choose another with --port, or 0 for any free port\n",
        wanted, shown.address);
    return 3;
  }
  fmt::print("runs in {}   http://{}:{}/{}   stop with Ctrl-C\n", root, shown.address, *port,
             shown.token.empty() ? "" : "?token=" + shown.token);
  if (is_plain) {
    fmt::print(
        "the live pages were not built (npm with Node 18 or newer builds them): plain pages that "
        "reload\n");
  }
  std::fflush(stdout);
  return server.listen() ? 0 : 1;
}
