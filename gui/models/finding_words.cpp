#include "analyzer/report/findings_text.h"
#include "analyzer/text/format.h"
#include "gui/models/facts.h"
#include "gui/models/findings_tree.h"
#include "gui/models/visible_text.h"
#include "plugins/builtin.h"

namespace tapelens::gui {

using advise::Entry;
using advise::Finding;
using check::FixKind;
using model::Bytes;

int rewrite_level(const Finding& finding) {
  if (finding.fix.kind != FixKind::rewrite) return -1;
  static const advise::Checks checks = plugins::builtin_checks();
  const advise::Checks::Entry* entry = checks.find(finding.fix.rewrite);
  return entry == nullptr ? -1 : entry->check->info().rewrite_level;
}

namespace {
constexpr QChar kTogether(0x00a0);  // a no-break space
}

QString where_text(const Finding& finding) {
  advise::Frame line = finding.source;
  if (!finding.module.empty()) line.function.clear();
  std::string text = report::source_text(line);
  if (text.empty() && finding.module.empty()) text = report::place_text(finding);
  if (!finding.module.empty()) text += (text.empty() ? "in " : " in ") + finding.module;
  return visible(text);
}

QString fixing_text(const Entry& entry, const Finding& first) {
  if (entry.kind == Entry::Kind::trade) return "alternative";
  if (entry.kind == Entry::Kind::automatic || first.fix.kind == FixKind::rewrite) return "automatic";
  return first.fix.edits.empty() ? "code change" : "patch";
}

QString guarantee_text(const Finding& finding) {
  switch (rewrite_level(finding)) {
    case 0:
      return "Lossless: saved but never read, so nothing is kept. No requested gradient depends on the values. "
             "Losses and gradients are the same, bit for bit.";
    case 1:
      return "Lossless: the same values are kept in fewer bytes. Losses and gradients are the same, bit for bit.";
    case 2:
      return "Bitwise: recomputed in the backward by a cheap operator from tensors that stay alive. Losses and "
             "gradients "
             "are the same, bit for bit; the step takes slightly longer.";
    case 3:
      return "Equivalent: another order of the same sums, at most twice the rounding error.";
    default:
      break;
  }
  switch (finding.fix.kind) {
    case FixKind::rewrite:
      return "A rewrite fixes it while the program runs, without a change of the program.";
    case FixKind::patch:
      return "A change of the program: read the patch before you apply it.";
    case FixKind::advice:
      break;
  }
  return "A change of the program that only you can make.";
}

QString change_text(const Finding& finding) {
  const Bytes alone = finding.peak_before - finding.peak_after;
  if (alone == Bytes{} && finding.retained_at_peak_with_all > Bytes{})
    return signed_bytes(Bytes{} - finding.retained_at_peak_with_all).replace(' ', kTogether) + " with" + kTogether +
           "others";
  return signed_bytes(Bytes{} - alone);
}

}  // namespace tapelens::gui
