// SPDX-License-Identifier: Apache-2.0
/// \file
/// What the dashboard answers, without the network: a path in, a page or JSON out.
///
///     /api/runs                          what a list shows
///     /api/runs/NAME                     what was asked, steps, plans
///     /api/runs/NAME/candidates          all, a row each
///     /api/runs/NAME/candidates/NUMBER   one, with verdicts, sources and questions
///     /api/runs/NAME/candidates/NUMBER/timeline
///                                        of it and the seed; POST records it
///     /api/recording                     what is being recorded, or was last
///     /api/runs/NAME/cost, …/cost/N      of its models; candidates from the Nth on
///     /api/runs/NAME/archive             what the search's archive is made of
///     /api/knowledge                     what runs have taught
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "dashboard/recorder.h"
#include "dashboard/web_files.h"
#include "store/run_folder.h"
#include "system/os/files.h"

namespace cuco::dashboard {

struct Answer {
  int status = 200;
  std::string type = "text/html; charset=utf-8";
  std::string body;
};

struct Site {
  system::Path root;              ///< Of the runs.
  std::vector<std::string> runs;  ///< Only these; empty: all.
  WebFiles web;                   ///< Empty: pages without scripts.
};

/// Read per request, also while a search writes.
[[nodiscard]] Answer answer(const Site& site, std::string_view path);

/// Whether the path is one that POST does something with.
[[nodiscard]] bool takes_post(std::string_view path);

/// What a POST asks for: a recording. 202: it has begun; 409: another one is under way.
[[nodiscard]] Answer answer_post(const Site& site, std::string_view path, Recorder& recorder);

/// /api/recording.
[[nodiscard]] Answer recording(const Recorder& recorder);

/// NotFound also for runs that are not shown.
[[nodiscard]] Result<store::RunFolder> find_shown(const Site& site, std::string_view name);

/// What has changed since that event, as /candidates has it, and nothing if nothing has.
struct Change {
  std::int64_t sequence = 0;
  std::string json;
};
[[nodiscard]] Result<std::optional<Change>> change_since(const store::RunFolder& folder,
                                                         std::int64_t sequence);

}  // namespace cuco::dashboard
