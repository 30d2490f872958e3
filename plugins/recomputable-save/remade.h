// What the rewrite recomputable-save lets go in a run, foretold: the decisions of profiler/rewrite/contents.cpp, taken
// from a recording. A content is what a storage holds between two writes. One that cheap operators make again of others
// that stay goes as soon as the program lets go of it.
#pragma once

#include <map>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "plugins/content.h"
#include "plugins/unneeded-save/unneeded.h"
#include "plugins/wide-save/narrow.h"

namespace tapelens::advise {

class Remade {
 public:
  explicit Remade(const Context& context);  // that has `applied`

  struct Found {
    AllocationId allocation;
    std::vector<SaveId> saves;          // that let go of it
    OperatorId last;                    // that makes it again
    uint32_t operators = 0;             // that have to run for that
    std::vector<AllocationId> sources;  // that have to stay
    Bytes small;                        // of copies of small sources
    Bytes most;                         // live at one moment while it is made, itself among it
  };
  // In the order in which they go. To be called once.
  std::vector<Found> all();

 private:
  // What an allocation holds after so many writes.
  struct Version {
    AllocationId allocation;
    uint32_t number = 0;
  };
  struct Recipe {
    OperatorId op;
    bool is_in_place = false;  // the first source is made again and overwritten
    std::vector<Version> sources;
    Bytes small;
  };
  struct History {
    std::vector<Time> writes;
    std::vector<std::optional<Recipe>> recipes;  // one more than writes
  };
  struct Chain {
    Bytes bytes;  // of what is made
    Time time;    // that its operators took
    uint64_t key = 0;
    uint32_t operators = 0;
  };
  struct Made {
    Bytes own, most;
  };
  struct Site {
    Bytes bytes;
    Time time;
    bool is_on = true;
  };
  enum class Gone : uint8_t { masked, exact, remade };

  OperatorId cheap_maker(AllocationId allocation) const;
  std::optional<Recipe> recipe_of(OperatorId op, AllocationId result, bool is_in_place) const;
  void read_history(AllocationId allocation);
  uint32_t version_at(AllocationId allocation, Time time) const;
  const Recipe* recipe(const Version& version) const;  // null: there is none

  bool is_unneeded(SaveId save) const;
  bool is_held(SaveId save, bool has_recipe) const;  // by a save that can be rewritten
  bool is_kept_anyway(AllocationId allocation, Time at) const;
  bool is_alive(const Version& version, Time at) const;
  bool is_there(const Version& version, Time at) const;
  bool can_be_made(const Version& version, Time at, Chain& chain) const;

  void settle(AllocationId allocation, std::vector<Found>& found);
  Made make(const Version& version, Time at, Found& found, bool is_counted) const;
  bool budget_allows(uint64_t key, Bytes bytes, Time time, Time at);
  void choose_sites();

  const Context& context_;
  const Contents contents_;
  const Narrow narrow_;
  mutable Unneeded unneeded_;
  const NameSet cheap_, gelu_;
  std::vector<int64_t> backward_ends_;               // sorted
  std::unordered_map<uint32_t, History> histories_;  // by allocation
  std::unordered_set<uint32_t> trained_;             // allocations of parameters that want a gradient
  std::unordered_map<uint32_t, Gone> gone_;          // by allocation
  std::map<uint64_t, Site> sites_;
  size_t steps_ = 0;  // backwards that have ended
};

}  // namespace tapelens::advise
