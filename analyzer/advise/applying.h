// The rewrites of a run (`tapelens advise --apply`), and the part of a finding that they change.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "analyzer/advise/checks.h"
#include "analyzer/check/check.h"
#include "rewrites/plan.h"

namespace tapelens::advise {

using namespace model;

struct Applying : rewrites::Selection {
  std::string name;  // as the user gave it: "lossless", "plan.json"
};

// Remembers what it answered for a place.
class Chosen final : public check::AppliedRewrites {
 public:
  // Each check with a level stands for the rewrite of its id.
  Chosen(const check::Context& context, const Applying& applying, const Checks& checks);

  // False: it is applied nowhere.
  bool wants(std::string_view rewrite) const;
  bool takes(std::string_view rewrite, SaveId save) const override;
  Bytes min_bytes() const override { return Bytes{static_cast<int64_t>(applying_.min_bytes)}; }
  double recompute_budget() const override { return applying_.recompute_budget; }
  // Whether an occurrence of a check is something that its rewrite does.
  bool takes(std::string_view rewrite, const check::Occurrence& occurrence, const peak::WhatIf& change) const;

 private:
  bool is_everywhere(std::string_view rewrite) const;
  bool takes(std::string_view rewrite, const check::Place& place) const;
  bool is_at(const rewrites::Site& site, const check::Place& place) const;

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

  const check::Context& context_;
  const Applying& applying_;
  std::map<std::string, int, std::less<>> levels_;
  mutable std::unordered_map<Key, bool, KeyHash> known_;
};

}  // namespace tapelens::advise
