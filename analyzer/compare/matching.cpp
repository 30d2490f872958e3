#include <algorithm>
#include <map>
#include <string>

#include "analyzer/compare/comparison.h"

namespace tapelens::compare {

namespace {

// Matched things have equal keys in one of these rounds, the most certain first.
enum class Round : uint8_t { statement, function_and_shape, function, module, place, shape };
constexpr Round kRounds[] = {Round::statement, Round::function_and_shape, Round::function, Round::module, Round::place,
                             Round::shape};

std::string file_name(const Frame& frame) { return frame.file.substr(frame.file.rfind('/') + 1); }

// Joins parts with a byte that none of them contains.
template <class... Part>
std::string joined(const Part&... part) {
  std::string out;
  ((out += part, out += '\0'), ...);
  return out;
}

std::string statement_or_line(const Frame& source, const std::string& statement) {
  return statement.empty() ? std::to_string(source.line) : statement;
}

std::string sizes_text(const Row& row) {
  std::string out = row.dtype;
  for (const uint64_t size : row.sizes) out += "," + std::to_string(size);
  return out;
}

// The key of a row in a round; empty if the row does not take part.
std::string key(const Row& r, Round round) {
  const std::string what = joined(std::to_string(static_cast<int>(r.kind)), r.node, r.field, r.op);
  switch (round) {
    case Round::statement:
      return joined(what, r.name, r.module, file_name(r.source), r.source.function,
                    statement_or_line(r.source, r.statement));
    case Round::function_and_shape:
      return joined(what, r.name, r.module, file_name(r.source), r.source.function, sizes_text(r));
    case Round::function:
      return joined(what, r.name, r.module, file_name(r.source), r.source.function);
    case Round::module:
      return r.module.empty() ? "" : joined(what, r.name, r.module);
    case Round::place:
      return joined(what, file_name(r.source), r.source.function);
    case Round::shape:  // a renamed class or file
      return joined(what, std::to_string(r.bytes.value), std::to_string(r.allocations));
  }
  return "";
}

std::string key(const KnownFinding& f, Round round) {
  const std::string what = joined(f.check, f.node, f.field, f.op);
  switch (round) {
    case Round::statement:
      return joined(what, f.module, file_name(f.source), f.source.function, statement_or_line(f.source, f.statement));
    case Round::function_and_shape:
      return joined(what, f.module, file_name(f.source), f.source.function, std::to_string(f.bytes.value));
    case Round::function:
      return joined(what, f.module, file_name(f.source), f.source.function);
    case Round::module:
      return f.module.empty() ? "" : joined(what, f.module);
    case Round::place:
      return joined(what, file_name(f.source), f.source.function);
    case Round::shape:
      return joined(what, std::to_string(f.bytes.value));
  }
  return "";
}

// The partner in `a` of each index in `b`.
template <class Thing>
std::vector<std::optional<uint32_t>> partners(const std::vector<Thing>& a, const std::vector<Thing>& b) {
  std::vector<std::optional<uint32_t>> out(b.size());
  std::vector<uint8_t> taken(a.size());
  for (const Round round : kRounds) {
    std::multimap<std::string, uint32_t> left;  // equal keys stay in the order of `a`
    for (uint32_t i = 0; i < a.size(); ++i) {
      if (taken[i] != 0) continue;
      if (std::string of = key(a[i], round); !of.empty()) left.emplace(std::move(of), i);
    }
    for (uint32_t i = 0; i < b.size(); ++i) {
      if (out[i]) continue;
      const std::string wanted = key(b[i], round);
      const auto found = left.lower_bound(wanted);
      if (found == left.end() || found->first != wanted) continue;
      out[i] = found->second;
      taken[found->second] = 1;
      left.erase(found);
    }
  }
  return out;
}

}  // namespace

std::vector<Pair> matched(const std::vector<Row>& a, const std::vector<Row>& b) {
  const auto of = partners(a, b);
  std::vector<Pair> out;
  std::vector<uint8_t> taken(a.size());
  for (uint32_t i = 0; i < b.size(); ++i) {
    out.push_back({of[i], i});
    if (of[i]) taken[*of[i]] = 1;
  }
  for (uint32_t i = 0; i < a.size(); ++i) {
    if (taken[i] == 0) out.push_back({i, std::nullopt});
  }
  return out;
}

std::vector<uint32_t> new_findings(const std::vector<KnownFinding>& a, const std::vector<KnownFinding>& b) {
  // Equal fingerprints match first, before findings that look alike.
  std::vector<KnownFinding> rest_a, rest_b;
  std::vector<uint32_t> places;
  for (const KnownFinding& f : a) {
    if (std::ranges::find(b, f.id, &KnownFinding::id) == b.end()) rest_a.push_back(f);
  }
  for (uint32_t i = 0; i < b.size(); ++i) {
    if (std::ranges::find(a, b[i].id, &KnownFinding::id) != a.end()) continue;
    rest_b.push_back(b[i]);
    places.push_back(i);
  }
  const auto of = partners(rest_a, rest_b);
  std::vector<uint32_t> out;
  for (size_t i = 0; i < of.size(); ++i) {
    if (!of[i]) out.push_back(places[i]);
  }
  return out;
}

}  // namespace tapelens::compare
