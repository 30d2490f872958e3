// Which rewrites a run is to have (`tapelens advise --apply`), and what of a finding they would do.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "analyzer/advise/checks.h"
#include "plugins/check.h"

namespace tapelens::advise {

// One site of a plan. What is empty holds for all; `*` in the module's path is any number. `file`: its name alone.
struct PlannedSite {
  std::string rewrite, module, op, node, field, file;
  uint32_t line = 0;
};

struct Applying {
  std::string name;                  // as the user gave it: "lossless", "plan.json"
  int highest = -1;                  // all rewrites of levels up to this one
  std::vector<std::string> allowed;  // and these
  std::vector<PlannedSite> sites;    // and these there
  Bytes min_bytes{int64_t{64} << 10};  // storages of less are left alone
  double recompute_budget = 0.05;      // share of a step's time
};

// Remembers what it answered for a place.
class Chosen final : public AppliedRewrites {
 public:
  // Each check with a level stands for the rewrite of its id.
  Chosen(const Context& context, const Applying& applying, const Checks& checks);

  // False: it is applied nowhere.
  bool wants(std::string_view rewrite) const;
  bool takes(std::string_view rewrite, SaveId save) const override;
  Bytes min_bytes() const override { return applying_.min_bytes; }
  double recompute_budget() const override { return applying_.recompute_budget; }
  // Whether an occurrence of a check is something that its rewrite does.
  bool takes(std::string_view rewrite, const Occurrence& occurrence, const peak::WhatIf& change) const;

 private:
  bool is_everywhere(std::string_view rewrite) const;
  bool takes(std::string_view rewrite, const Place& place) const;
  bool is_at(const PlannedSite& site, const Place& place) const;

  struct Key {
    std::string_view rewrite;
    StringId op, node, field;
    ModuleId module;
    StackId stack;
    friend bool operator==(const Key&, const Key&) = default;
  };
  struct KeyHash {
    size_t operator()(const Key& key) const noexcept;
  };

  const Context& context_;
  const Applying& applying_;
  std::map<std::string, int, std::less<>> levels_;
  mutable std::unordered_map<Key, bool, KeyHash> known_;
};

// Whether a module's path is one that a site names: "Net.layer*.conv1" is "Net.layer12.conv1" and not "Net.layer.conv1".
bool is_module(std::string_view path, std::string_view named);

}  // namespace tapelens::advise
