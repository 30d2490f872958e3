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
#include "base/mutex.h"
#include "policy/plan.h"

namespace tapelens::advise {

using namespace model;

struct Applying : policy::RewriteSelection {
  std::string name;  // the user's text: "lossless", "plan.json"
};

// Caches the answer for each place. Safe from any thread.
class SelectedRewrites final : public check::AppliedRewrites {
 public:
  // A check with a level represents the rewrite with its id.
  SelectedRewrites(const check::Context& context, const Applying& applying, const Checks& checks);

  // False: it applies at no place.
  bool wants(std::string_view rewrite) const;
  bool takes(std::string_view rewrite, SaveId save) const override;
  Bytes min_bytes() const override { return Bytes{static_cast<int64_t>(applying_.min_bytes)}; }
  double recompute_budget() const override { return applying_.recompute_budget(); }
  bool repeats_costly() const override { return applying_.repeats_costly(); }
  // Whether the check's rewrite covers an occurrence.
  bool takes(std::string_view rewrite, const check::Occurrence& occurrence, const peak::WhatIf& change) const;

 private:
  bool is_everywhere(std::string_view rewrite) const;
  bool takes(std::string_view rewrite, const check::Place& place) const;
  bool is_at(const policy::Site& site, const check::Place& place) const;

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
  mutable base::Mutex lock_;
  mutable std::unordered_map<Key, bool, KeyHash> known_ TAPELENS_GUARDED_BY(lock_);
};

}  // namespace tapelens::advise
