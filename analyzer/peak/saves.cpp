#include "analyzer/peak/saves.h"

#include <algorithm>
#include <unordered_map>

#include "analyzer/model/words.h"
#include "trace/record.h"

namespace tapelens::peak {

namespace {

void sort_fields(std::vector<FieldTotals>& fields) {
  std::ranges::sort(fields, [](const FieldTotals& a, const FieldTotals& b) {
    if (a.totals.storage != b.totals.storage) return a.totals.storage > b.totals.storage;
    if (a.totals.logical != b.totals.logical) return a.totals.logical > b.totals.logical;
    return a.field < b.field;
  });
}

void add(SaveTotals& sum, const SaveTotals& more) {
  sum.count += more.count;
  sum.logical += more.logical;
  sum.storage += more.storage;
}

}  // namespace

SaveSummary summarize_saves(const Process& p, const Text& text) {
  SaveSummary summary;
  const Saves& s = p.saves;

  // Number the fields that occur, and each save's field: neighbours often repeat, so remember the last one.
  constexpr uint32_t kSkipped = UINT32_MAX;
  std::unordered_map<uint64_t, uint32_t> numbers;
  std::vector<uint64_t> keys;
  std::vector<uint32_t> field_of(s.rows() + 1, kSkipped), first;
  uint64_t last_key = UINT64_MAX;
  uint32_t last = 0;
  for (uint32_t row = 1; row <= s.rows(); ++row) {
    const SaveId save{row};
    if ((s.flags[save] & trace::kSaveIsWrappedNumber) != 0) continue;
    if (!s.node[save]) ++summary.unattributed;
    const uint64_t key = uint64_t{p.nodes.type[s.node[save]].value} << 32 | s.field[save].value;
    if (key != last_key) {
      const auto [at, fresh] = numbers.try_emplace(key, static_cast<uint32_t>(keys.size()));
      if (fresh) keys.push_back(key);
      last_key = key;
      last = at->second;
    }
    field_of[row] = last;
  }

  // Saves by field (a counting sort), so that one mark an allocation is enough to count it once a field.
  first.assign(keys.size() + 2, 0);
  for (uint32_t row = 1; row <= s.rows(); ++row) {
    if (field_of[row] != kSkipped) ++first[field_of[row] + 1];
  }
  for (size_t field = 1; field < first.size(); ++field) first[field] += first[field - 1];
  std::vector<uint32_t> rows(first.back()), place(first.begin(), first.end());
  for (uint32_t row = 1; row <= s.rows(); ++row) {
    if (field_of[row] != kSkipped) rows[place[field_of[row]]++] = row;
  }

  std::vector<uint32_t> counted(p.allocations.rows() + 1, 0);  // the last field that counted it, from 1
  for (uint32_t field = 0; field < keys.size(); ++field) {
    SaveTotals totals;
    for (uint32_t at = first[field]; at < first[field + 1]; ++at) {
      const SaveId save{rows[at]};
      ++totals.count;
      totals.logical += text.layout_bytes[s.layout[save]];
      const AllocationId allocation = s.allocation[save];
      if (!allocation || (s.flags[save] & trace::kSaveIsPacked) != 0) continue;
      uint32_t& mark = counted[allocation.value];
      if (mark == field + 1) continue;
      totals.storage += p.allocations.bytes[allocation];
      if (mark == 0) summary.all.storage += p.allocations.bytes[allocation];
      mark = field + 1;
    }
    summary.all.count += totals.count;
    summary.all.logical += totals.logical;
    summary.fields.push_back({field_name(text.string(StringId{static_cast<uint32_t>(keys[field] >> 32)}),
                                         text.string(StringId{static_cast<uint32_t>(keys[field])})),
                              totals});
  }
  for (const Lost& lost : p.lost) {
    if (lost.kind == Loss::unattributed_save) summary.unattributed += lost.count;
  }
  sort_fields(summary.fields);
  return summary;
}

void add(SaveSummary& sum, const SaveSummary& more) {
  add(sum.all, more.all);
  sum.unattributed += more.unattributed;
  for (const FieldTotals& field : more.fields) {
    const auto same = std::ranges::find(sum.fields, field.field, &FieldTotals::field);
    if (same == sum.fields.end()) {
      sum.fields.push_back(field);
    } else {
      add(same->totals, field.totals);
    }
  }
  sort_fields(sum.fields);
}

}  // namespace tapelens::peak
