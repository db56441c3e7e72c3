// SPDX-License-Identifier: Apache-2.0
#include "vgpu/weak/weak_view.h"

#include <algorithm>

namespace cuco::vgpu {
namespace {

using Times = std::vector<std::pair<std::uint64_t, std::uint64_t>>;

std::uint64_t time_of(const Times& times, std::uint64_t key) {
  const auto found = std::ranges::lower_bound(times, key, {}, &Times::value_type::first);
  return found == times.end() || found->first != key ? 0 : found->second;
}

/// The later time of each; says whether that is all of `a`, or all of `b`.
Times merge(const Times& a, const Times& b, bool& is_a, bool& is_b) {
  Times out;
  out.reserve(std::max(a.size(), b.size()));
  auto x = a.begin();
  auto y = b.begin();
  while (x != a.end() || y != b.end()) {
    const bool has_x = x != a.end() && (y == b.end() || x->first <= y->first);
    const bool has_y = y != b.end() && (x == a.end() || y->first <= x->first);
    is_a &= has_x && (!has_y || x->second >= y->second);
    is_b &= has_y && (!has_x || y->second >= x->second);
    out.emplace_back(has_x ? x->first : y->first,
                     std::max(has_x ? x->second : 0, has_y ? y->second : 0));
    x += has_x ? 1 : 0;
    y += has_y ? 1 : 0;
  }
  return out;
}

}  // namespace

void View::join(const View& other) {
  if (other.known_ == nullptr || other.known_ == known_) return;
  if (known_ == nullptr) {
    known_ = other.known_;
    return;
  }
  bool is_mine = true;
  bool is_theirs = true;
  Times writers = merge(known_->writers, other.known_->writers, is_mine, is_theirs);
  Times words = merge(known_->words, other.known_->words, is_mine, is_theirs);
  if (is_mine) return;
  // Who learns all that another knows has the same view from then on, and the next join is free.
  known_ = is_theirs ? other.known_
                     : std::make_shared<Known>(std::move(writers), std::move(words),
                                               std::min(known_->least, other.known_->least));
}

void View::see(Times Known::* which, std::uint64_t key, std::uint64_t time) {
  if (known_ != nullptr && time_of((*known_).*which, key) >= time) return;
  if (known_ == nullptr) {
    known_ = std::make_shared<Known>();
  } else if (known_.use_count() > 1) {
    known_ = std::make_shared<Known>(*known_);
  }
  Times& times = (*known_).*which;
  const auto place = std::ranges::lower_bound(times, key, {}, &Times::value_type::first);
  if (place != times.end() && place->first == key) {
    place->second = time;
  } else {
    times.emplace(place, key, time);
  }
  known_->least = std::min(known_->least, time);
}

void View::see_all_of(std::uint32_t writer, std::uint64_t time) {
  see(&Known::writers, writer, time);
}

void View::see_word(Address word, std::uint64_t time) {
  see(&Known::words, word, time);
}

bool View::has_seen(std::uint32_t writer, std::uint64_t time) const {
  return known_ != nullptr && time_of(known_->writers, writer) >= time;
}

std::uint64_t View::seen_of_word(Address word) const {
  return known_ == nullptr || known_->words.empty() ? 0 : time_of(known_->words, word);
}

std::size_t View::size() const {
  return known_ == nullptr ? 0 : known_->writers.size() + known_->words.size();
}

void View::forget_up_to(std::uint64_t time) {
  if (known_ == nullptr || known_->least > time) return;
  auto kept = std::make_shared<Known>();
  for (Times Known::* which : {&Known::writers, &Known::words}) {
    for (const auto& entry : (*known_).*which) {
      if (entry.second <= time) continue;
      ((*kept).*which).push_back(entry);
      kept->least = std::min(kept->least, entry.second);
    }
  }
  known_ = kept->writers.empty() && kept->words.empty() ? nullptr : std::move(kept);
}

}  // namespace cuco::vgpu
