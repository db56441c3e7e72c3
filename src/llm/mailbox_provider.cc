// SPDX-License-Identifier: Apache-2.0
#include "llm/mailbox_provider.h"

#include <algorithm>
#include <cctype>

#include <fmt/format.h>

#include "base/hash.h"
#include "base/text.h"
#include "llm/http/helper_result.h"
#include "llm/stoppable_job.h"

namespace cuco::llm {
namespace {

constexpr auto kPoll = std::chrono::milliseconds(300);
constexpr std::size_t kIdDigits = 12;

constexpr std::string_view kReadMe =
    "# A mailbox of cuco\n\n"
    "Each `ID.question.md` waits for an `ID.answer.md` beside it. Read the question, write the\n"
    "answer in the form that it asks for, and cuco goes on by itself. An answer counts when it "
    "has\n"
    "not changed for a moment; to be safe, write it under another name and rename it:\n\n"
    "    mv my-draft ID.answer.md\n\n"
    "A run that was stopped or whose time was over asks the same question again: the answer may\n"
    "be written before that. Answered questions may be deleted when the run has ended.\n";

std::string question_text(const Request& request, const std::string& id) {
  return fmt::format(
      "<!-- Answer in the file {}.answer.md in this folder (write another file, then rename it).\n"
      "     Only what stands below these lines is the question. -->\n\n{}{}{}\n",
      id, request.system, request.system.empty() ? "" : "\n\n---\n\n", request.prompt);
}

}  // namespace

std::string mailbox_id(const Request& request) {
  std::string role;
  for (const char c : request.site.role)
    role += std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '-';
  const auto hash =
      to_hex(sha256(fmt::format("{}:{}{}:{}{}", request.system.size(), request.system,
                                request.prompt.size(), request.prompt, request.seed)));
  return fmt::format("{:03}-{}-{}-{}", std::max(0, request.site.decision),
                     role.empty() ? "ask" : role, request.site.turn, hash.substr(0, kIdDigits));
}

Result<void> MailboxProvider::prepare() const {
  // A README.md that is there may be somebody else's; then another file tells whether one can be
  // written.
  std::error_code code;
  const bool first = !std::filesystem::exists(folder_ / "README.md", code);
  const auto file = folder_ / (first ? "README.md" : ".cuco-may-write");
  auto made = system::make_folder(folder_);
  if (made) made = system::write_file(file, first ? kReadMe : "");
  if (made && !first) std::filesystem::remove(file, code);
  if (made) return {};
  return Error{ErrorKind::InvalidInput,
               fmt::format("mailbox '{}': {}", folder_.string(), made.error().message())};
}

Result<void> MailboxProvider::ask(const Request& request, const std::string& id) const {
  if (!std::filesystem::exists(folder_ / "README.md")) CUCO_TRY(prepare());
  return system::write_file(folder_ / (id + ".question.md"), question_text(request, id));
}

/// Somebody may be writing it right now: it counts when two looks at it see the same.
Result<std::string> MailboxProvider::finished_answer(const system::Path& file) const {
  CUCO_TRY_ASSIGN(std::string first, system::read_file(file, kMostAnswer));
  clock_.sleep(kPoll);
  CUCO_TRY_ASSIGN(const std::string second, system::read_file(file, kMostAnswer));
  if (first != second || trim(first).empty())
    return Error{ErrorKind::NotFound, "the answer is still being written"};
  return first;
}

Result<Reply> MailboxProvider::complete(const Request& request) {
  const std::string id = mailbox_id(request);
  const auto file = folder_ / (id + ".answer.md");
  const auto start = clock_.now();
  bool asked = false;
  while (true) {
    auto text = finished_answer(file);
    if (text) {
      return Reply{.text = *std::move(text),
                   .seconds = std::chrono::duration<double>(clock_.now() - start).count()};
    }
    // Unreadable or far too long: waiting does not mend that.
    if (text.error().kind() != ErrorKind::NotFound)
      return Error{ErrorKind::Protocol, text.error().message()};
    if (!asked) CUCO_TRY(ask(request, id));
    asked = true;
    if (clock_.now() - start >= request.deadline) break;
    CUCO_TRY(sleep_stoppable(clock_, kPoll, request.stopped));
  }
  return Error{
      ErrorKind::Timeout,
      fmt::format("nobody answered '{}' within {} s; write {}.answer.md beside it, and "
                  "resume the run",
                  (folder_ / (id + ".question.md")).string(), request.deadline.count(), id)};
}

}  // namespace cuco::llm
