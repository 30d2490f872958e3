#include "analyzer/advise/applying.h"

#include <algorithm>

namespace tapelens::advise {

using namespace check;

namespace {

std::string_view file_name(std::string_view path) { return path.substr(path.rfind('/') + 1); }

}  // namespace

SelectedRewrites::SelectedRewrites(const Context& context, const Applying& applying, const Checks& checks)
    : context_(context), applying_(applying) {
  for (const Checks::Entry& entry : checks.entries()) {
    const CheckInfo info = entry.check->info();
    if (info.rewrite_level >= 0) levels_.emplace(info.id, info.rewrite_level);
  }
}

bool SelectedRewrites::is_everywhere(std::string_view rewrite) const {
  const auto level = levels_.find(rewrite);
  return level != levels_.end() && applying_.has(rewrite, level->second);
}

bool SelectedRewrites::wants(std::string_view rewrite) const {
  const auto level = levels_.find(rewrite);
  return level != levels_.end() && applying_.may_have(rewrite, level->second);
}

bool SelectedRewrites::is_at(const policy::Site& site, const Place& place) const {
  const Text& text = context_.text;
  const Process& p = context_.process;
  const auto is = [&](const std::string& wanted, StringId have) {
    return wanted.empty() || (have && text.string(have) == wanted);
  };
  if (!is(site.op, place.op ? p.operators.name[place.op] : StringId{})) return false;
  if (!is(site.node, place.node ? p.nodes.type[place.node] : StringId{}) || !is(site.field, place.field)) return false;
  if (!site.module.empty() &&
      (!place.module || !policy::is_module(text.string(text.module_path[place.module]), site.module))) {
    return false;
  }
  if (site.file.empty()) return true;
  const FrameId frame = source_frame(text, place.stack);
  return frame && text.frame_line[frame] == site.line && file_name(text.string(text.frame_file[frame])) == site.file;
}

bool SelectedRewrites::takes(std::string_view rewrite, const Place& place) const {
  const Key key{rewrite,
                place.op ? context_.process.operators.name[place.op] : StringId{},
                place.node ? context_.process.nodes.type[place.node] : StringId{},
                place.field,
                place.module,
                place.stack};
  const base::MutexLock guard(lock_);
  const auto [at, is_new] = known_.try_emplace(key, false);
  if (is_new) {
    at->second = std::ranges::any_of(
        applying_.sites, [&](const policy::Site& site) { return site.rewrite == rewrite && is_at(site, place); });
  }
  return at->second;
}

bool SelectedRewrites::takes(std::string_view rewrite, SaveId save) const {
  return is_everywhere(rewrite) || takes(rewrite, place_of(context_, save));
}

bool SelectedRewrites::takes(std::string_view rewrite, const Occurrence& occurrence, const peak::WhatIf& change) const {
  if (is_everywhere(rewrite)) return true;
  if (change.without.empty()) return takes(rewrite, occurrence.place);
  return std::ranges::any_of(change.without, [&](SaveId save) { return takes(rewrite, save); });
}

size_t SelectedRewrites::KeyHash::operator()(const Key& key) const noexcept {
  size_t hash = std::hash<std::string_view>()(key.rewrite);
  for (const uint32_t part : {key.op.value, key.node.value, key.field.value, key.module.value, key.stack.value}) {
    hash = (hash ^ part) * 1099511628211ULL;
  }
  return hash ^ hash >> 32;
}

}  // namespace tapelens::advise
