// Predicts the releases of the rewrite recomputable-save in a run. It makes the decisions of profiler/versions from a
// recording, by the shared rules of policy/recompute. A version is the content of a storage between two writes. The
// rewrite releases a version with the program's own release, if cheap operators can recompute it from versions that
// stay.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "analyzer/check/content.h"
#include "plugins/unneeded-save/unneeded.h"
#include "plugins/wide-save/narrow.h"
#include "policy/recompute/budget.h"
#include "policy/recompute/release.h"

namespace tapelens::check {

class Recomputed {
 public:
  explicit Recomputed(const Context& context);  // requires Context::applied

  struct Found {
    AllocationId allocation;
    std::vector<SaveId> saves;          // saves that are released with it
    OperatorId last;                    // operator that recomputes it
    uint32_t operators = 0;             // number of operators that must run
    std::vector<AllocationId> sources;  // allocations that must stay
    Bytes small{};                      // bytes of copies of small sources
    struct Copy {
      Time since;
      Bytes bytes;
    };
    std::vector<Copy> copies{};       // copies of sources that the program overwrites
    Bytes most{};                     // most live bytes during the recomputation, with the result
    uint64_t cost = 0;                // of the operators that run again (policy/recompute/operators.h)
    Time duration{};                  // of these operators in the recording
    Interval again{kNever, Time{0}};  // its recomputed values are alive; empty: no backward reads it
  };
  // In the order of their release. Call once.
  std::vector<Found> all();
  // The estimated cost of all steps, in the unit of Found::cost. Requires all().
  uint64_t cost_of_steps() const;

 private:
  // An allocation's content after `number` writes.
  struct Version {
    AllocationId allocation;
    uint32_t number = 0;
    friend auto operator<=>(const Version&, const Version&) = default;
  };
  struct Recipe {
    OperatorId op;
    bool is_same = false;      // equals its only source
    bool is_in_place = false;  // the first source is recomputed and overwritten
    std::vector<Version> sources{};
    std::vector<AllocationId> small{};  // too small to follow: copied when the recipe is kept
  };
  struct History {
    OperatorId maker;  // the cheap operator that made it; none: not cheap
    std::vector<Time> writes;
    std::vector<OperatorId> writers;
    std::vector<std::optional<Recipe>> recipes;  // one more than writes
  };
  // A version that recipes read.
  struct Counted {
    recompute::Dependents dependents;
    bool is_held = false;     // by a copy-on-write clone
    bool is_secured = false;  // its own recipe is secured
    // The time of the program's write while recipes still need the version. The host copies the version first.
    Time copied = kNever;
    bool is_copy_told = false;  // a Found has the copy
    bool is_there(Time at) const { return is_held || copied < at; }
  };
  struct Made {
    Bytes own{}, most{};
    bool is_costly = false;
  };
  struct Ran {
    Time when;
    uint64_t cost;
  };
  struct Cast {
    AllocationId made;
    OperatorId op;
    uint64_t offset;
    Time until;  // neither the program nor a save has it from here on
  };
  enum class Gone : uint8_t { masked, exact, recomputed };
  struct View;     // for recompute::can_be_made()
  struct Pinning;  // for recompute::pin_source()

  OperatorId repeatable_maker(AllocationId allocation) const;
  bool is_whole(OperatorId op, AllocationId allocation) const;
  std::optional<Recipe> recipe_of(OperatorId op, AllocationId result, bool is_in_place) const;
  std::optional<Recipe> made_as(AllocationId allocation, OperatorId maker);
  void read_writes(AllocationId allocation);
  void read_recipes(AllocationId allocation);
  bool is_in_backward(OperatorId op) const;
  uint64_t product_cost(OperatorId op, recompute::Product product) const;
  void read_products();
  const History& history(AllocationId allocation) const;
  uint32_t version_at(AllocationId allocation, Time time) const;
  bool is_made_before(const Version& version, Time begin) const;
  bool is_kept_result(const Version& version, OperatorId op) const;
  std::optional<Recipe> in_order(std::optional<Recipe> recipe) const;
  const Recipe* recipe(const Version& version) const;         // null: no recipe
  recompute::Repeatable maker(const Version& version) const;  // of its recipe
  bool is_kept_once_made(const Version& version) const;
  // The bytes of a recipe's small sources, and whether they are unchanged.
  Bytes small_bytes(const Recipe& recipe) const;
  bool has_small_sources(const Version& version, Time at) const;

  bool is_unneeded(SaveId save) const;
  bool is_held(SaveId save, bool has_recipe) const;  // by saves within the rewrite's reach
  bool is_kept_anyway(AllocationId allocation, Time at) const;
  bool is_alive(const Version& version, Time at) const;
  bool has_holds(const Version& version, Time at) const;
  bool is_there(const Version& version, Time at) const;

  bool is_there_later(const Version& version) const;
  Time asked_at(AllocationId allocation) const;
  void settle(AllocationId allocation, Time at, std::vector<Found>& found);
  // `operators`: length of the longest chain that reads it. `until`: release of the last version that needs it.
  void secure(const Version& version, uint32_t operators, Time at, Time until);
  // The time of its next write.
  Time written(const Version& version) const;
  bool budget_allows(uint64_t candidate, uint64_t bytes, uint64_t cost, Time at);
  void read_again(std::vector<Found>& found) const;
  // The memory that its recomputation takes in the backward at that time, after all decisions.
  Made make(const Version& version, Found& found, bool is_own, Time at);
  // Counts an operator that runs again.
  void count(const Version& version, Found& found, Time at) const;

  const Context& context_;
  const Contents contents_;
  const Narrow narrow_;
  mutable Unneeded unneeded_;
  const NameSet gelu_, dropout_, copies_;
  const recompute::Machine machine_;
  const std::vector<recompute::Repeatable> repeatable_;  // by StringId; costly ones only if the level repeats them
  std::vector<Interval> backwards_;                      // merged
  std::vector<int64_t> backward_ends_;                   // sorted
  std::vector<int64_t> asked_;                           // times at which the host settles waiting allocations; sorted
  std::vector<uint32_t> history_of_;                     // by allocation: its row of histories_
  std::vector<History> histories_;                       // the first: of allocations that are too small to follow
  std::set<AllocationId> unmade_;                        // matrices of cross entropies by rows
  std::set<SaveId> by_rows_;                             // their saves
  std::unordered_set<uint32_t> trained_;                 // allocations of parameters that require a gradient
  std::unordered_map<uint32_t, Gone> gone_;              // by allocation
  std::vector<AllocationId> first_;                      // by repeatable operator: its first output
  std::unordered_map<uint32_t, uint32_t> recomputed_;    // by allocation: the number of the version that was released
  std::unordered_map<uint32_t, Found*> kept_;            // by allocation: released costly values
  std::map<Version, Counted> counted_;
  std::map<std::pair<Version, LayoutId>, std::vector<Cast>> casts_;
  std::vector<Ran> ran_;
  size_t next_ran_ = 0, backwards_done_ = 0;
  recompute::RecomputeBudget budget_;
};

}  // namespace tapelens::check
