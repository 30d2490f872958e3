// Groups the occurrences of one check by place.
#pragma once

#include <unordered_map>
#include <vector>

#include "analyzer/advise/advice.h"
#include "analyzer/advise/applying.h"
#include "analyzer/advise/fingerprint.h"
#include "analyzer/check/check.h"

namespace tapelens::advise {

using namespace model;

struct FoundGroup {
  Places::Key key;
  std::vector<check::Occurrence> occurrences;
  peak::WhatIf change;  // sum over all occurrences
  Bytes bytes;          // as in Group
};

class Groups final : public check::Sink {
 public:
  Groups(const check::Context& context, Places& places) : context_(context), places_(places) {}
  // Keeps only the occurrences that the rewrite changes at its sites.
  Groups(const check::Context& context, Places& places, const SelectedRewrites& chosen, std::string_view rewrite)
      : context_(context), places_(places), chosen_(&chosen), rewrite_(rewrite) {}

  // Ignores occurrences on devices other than the selected one.
  void add(const check::Occurrence& occurrence, const peak::WhatIf& change, uint32_t variant) override;
  std::vector<FoundGroup> take();

 private:
  const check::Context& context_;
  Places& places_;
  const SelectedRewrites* chosen_ = nullptr;
  std::string_view rewrite_;
  std::unordered_map<Places::Key, uint32_t> numbers_;
  std::vector<FoundGroup> groups_;
};

// Reduces a change to the saves that earlier changes have not dropped. Adds its saves to `claimed` (by SaveId). Without
// a remaining save of an allocation, the extra memory in its place is not needed either.
peak::WhatIf without_claimed(const Process& process, const peak::WhatIf& change, std::vector<uint8_t>& claimed);

// The maximum bytes of the occurrences at one moment, each allocation counted once.
Bytes most_at_once(const std::vector<check::Occurrence>& occurrences);

// Facts about a group that every check needs: its place, its steps, its bytes, and their other holders. `edit`: the
// line to edit; none: the line of the biggest occurrence.
Finding describe_place(const check::Context& context, Places& places, const FoundGroup& group, check::EditLine edit);

}  // namespace tapelens::advise
