#include "analyzer/report/alike.h"

#include <map>
#include <span>
#include <string_view>
#include <utility>

#include "analyzer/report/sentences.h"
#include "analyzer/text/names.h"

namespace tapelens::report {

namespace {

// Allocations of the same bytes with one key and one module.
struct Same {
  size_t key = 0;
  std::vector<const Allocation*> allocations;
};

std::string key_of(const Report& r, const Allocation& a) {
  std::string key = text::without_indices(holders_text(a));
  for (const std::string& part : {std::to_string(static_cast<int>(a.category)), a.layout, a.op, a.source,
                                  since_text(r, a.step), a.imported ? a.imported->phase + a.imported->node : ""}) {
    key += '\0' + part;
  }
  return key;
}

AllocationLine line_of(const std::vector<const Allocation*>& all, std::string module) {
  std::vector<std::string> holders, subjects;
  for (const Allocation* one : all) {
    holders.push_back(holders_text(*one));
    subjects.push_back(holder_text(main_holder(*one)));
  }
  return {all.front(), all.size(), text::with_indices(holders), text::with_indices(subjects), std::move(module)};
}

// `all` have the same bytes.
std::vector<AllocationLine> lines_of(const Report& r, std::span<const Allocation> all) {
  std::map<std::string, size_t> keys;
  std::map<std::pair<size_t, std::string_view>, size_t> places;  // key and module: the place in `same`
  std::vector<Same> same;
  for (const Allocation& a : all) {
    const size_t key = keys.try_emplace(key_of(r, a), keys.size()).first->second;
    const auto [at, is_new] = places.try_emplace({key, a.module}, same.size());
    if (is_new) same.push_back({key, {}});
    same[at->second].allocations.push_back(&a);
  }
  std::vector<text::NamedRow> named;
  for (const Same& one : same) named.push_back({one.allocations.front()->module, one.key});
  std::vector<AllocationLine> lines;
  for (text::EqualRows& equal : text::equal_rows(named)) {
    std::vector<const Allocation*> members;
    for (const size_t at : equal.rows) {
      members.insert(members.end(), same[at].allocations.begin(), same[at].allocations.end());
    }
    lines.push_back(line_of(members, std::move(equal.name)));
  }
  return lines;
}

}  // namespace

AllocationLines biggest(const Report& r, size_t most) {
  AllocationLines out;
  const std::span<const Allocation> all(r.peak.allocations);
  for (size_t begin = 0; begin < all.size() && out.lines.size() < most;) {
    size_t end = begin;
    while (end < all.size() && all[end].bytes == all[begin].bytes) ++end;
    for (AllocationLine& line : lines_of(r, all.subspan(begin, end - begin))) {
      if (out.lines.size() == most) break;
      out.allocations += line.allocations;
      out.lines.push_back(std::move(line));
    }
    begin = end;
  }
  std::vector<std::string_view> names;
  for (const AllocationLine& line : out.lines) names.push_back(line.module);
  out.parent = text::common_path(names);
  for (AllocationLine& line : out.lines) line.module = text::below(line.module, out.parent);
  return out;
}

}  // namespace tapelens::report
