#include "plugins/idle-holder/casts.h"

#include <algorithm>

#include "analyzer/check/patch_maker.h"
#include "analyzer/check/patch_tokens.h"

namespace tapelens::check {

bool is_cached_cast(const Context& context, const std::vector<bool>& parameters, AllocationId allocation) {
  const Process& p = context.process;
  const OperatorId called = context.provenance.maker(allocation);
  if (!called || p.freed(allocation) <= p.operators.end[called]) return false;
  if (!context.provenance.saves(allocation).empty()) return false;
  const Copy copy = context.provenance.copy_of(allocation);
  if (!copy.source || !parameters[copy.source.value]) return false;
  // If the called operator is the cast, the program requested the copy, and autocast does not cache it.
  return copy.op != called && p.allocations.bytes[allocation] != p.allocations.bytes[copy.source];
}

EditLine autocast_line(const Context& context, StackId stack) {
  for (const FrameId frame : context.text.stack(stack)) {
    if (!is_own_frame(context.text, frame)) continue;
    const auto at = spot_of(context, frame);
    if (!at) continue;
    const auto& all = at->source.statements();
    for (size_t header = at->source.header_of(at->statement); header < all.size();
         header = at->source.header_of(header)) {
      const Tokens tokens(at->source.begin(all[header]), at->source.end(all[header]));
      const bool is_region = is(tokens.front(), "with") &&
                             std::ranges::any_of(tokens, [](const Token& token) { return is(token, "autocast"); });
      if (is_region) return {frame, tokens.front().line + 1};
    }
  }
  return {};
}

}  // namespace tapelens::check
