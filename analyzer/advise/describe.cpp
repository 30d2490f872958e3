#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "analyzer/advise/groups.h"
#include "trace/record.h"

namespace tapelens::advise {

using namespace check;

namespace {

constexpr size_t kMostEvidence = 8, kMostSteps = 8;

std::string text_of(const Text& text, StringId id) { return id ? std::string(text.string(id)) : std::string(); }

// The text on one line, without white space around it.
std::string statement_at(const Context& context, FrameId frame, uint32_t number) {
  const Text& text = context.text;
  const auto content = recorded_source(text, text.string(text.frame_file[frame]), *context.sources);
  if (!content) return "";
  std::string_view rest = *content;
  for (uint32_t line = 1; line < number && !rest.empty(); ++line) {
    rest.remove_prefix(std::min(rest.find('\n'), rest.size() - 1) + 1);
  }
  rest = rest.substr(0, rest.find('\n'));
  const size_t begin = rest.find_first_not_of(" \t\r"), end = rest.find_last_not_of(" \t\r");
  return begin == std::string_view::npos ? "" : std::string(rest.substr(begin, end - begin + 1));
}

LayoutId layout_of(const Context& context, const Occurrence& occurrence) {
  if (occurrence.save) return context.process.saves.layout[occurrence.save];
  for (const SaveId save : context.provenance.saves(occurrence.allocation)) {
    if (context.process.saves.layout[save]) return context.process.saves.layout[save];
  }
  return {};
}

class Holders {
 public:
  explicit Holders(const Context& context) : c_(context) {
    const Roles& roles = c_.process.roles;
    for (uint32_t row = 1; row <= roles.rows(); ++row) role_.emplace(roles.allocation.raw[row], RoleId{row});
    const model::Held& held = c_.process.held;
    for (uint32_t row = 1; row <= held.rows(); ++row) held_.emplace(held.allocation.raw[row], model::HeldId{row});
  }

  // The holders of the occurrence's allocation besides its own save.
  std::vector<std::string> of(const Occurrence& occurrence) const {
    std::vector<std::string> out;
    const AllocationId allocation = occurrence.allocation;
    if (!allocation) return out;
    const Process& p = c_.process;
    if (const auto role = role_.find(allocation.value); role != role_.end()) {
      static constexpr const char* kNames[] = {"", "parameter", "buffer", "gradient", "optimizer_state"};
      const auto kind = static_cast<size_t>(p.roles.kind[role->second]);
      const std::string name = text_of(c_.text, p.roles.name[role->second]);
      out.push_back((kind < std::size(kNames) ? kNames[kind] : "role") + (name.empty() ? "" : " " + name));
    }
    std::set<std::string> kept;
    for (auto [at, end] = held_.equal_range(allocation.value); at != end; ++at) {
      const peak::Holder holder = peak::held_by(p, at->second);
      const std::string field =
          holder.node ? peak::field_text(p, c_.text, holder.node, holder.field) : text_of(c_.text, holder.field);
      kept.insert(std::string(peak::kind_name(holder.kind)) + (field.empty() ? "" : " " + field));
    }
    for (const SaveId save : c_.provenance.saves(allocation)) {
      if (save == occurrence.save) continue;
      kept.insert(peak::field_text(p, c_.text, p.saves.node[save], p.saves.field[save]));
    }
    out.insert(out.end(), kept.begin(), kept.end());
    if (out.empty() && !c_.process.is_imported && !c_.lifetimes.ends_with_save(allocation)) out.emplace_back("program");
    return out;
  }

 private:
  const Context& c_;
  std::map<uint32_t, RoleId> role_;
  std::multimap<uint32_t, model::HeldId> held_;
};

void add_evidence(const Context& context, const FoundGroup& group, Finding& finding) {
  const Process& p = context.process;
  // Occurrences that look the same are one line; the biggest of each, in the order of bytes. The size is that of a
  // known layout; without a layout, each iteration of a loop may have another size.
  using Look = std::tuple<StringId, StringId, LayoutId, StringId, int64_t>;
  struct Seen {
    const Occurrence* biggest;
    uint64_t count = 0;
    bool are_of_one_size = true;
  };
  std::map<Look, Seen> looks;
  for (const Occurrence& o : group.occurrences) {
    const NodeId node = o.save ? p.saves.node[o.save] : o.place.node;
    const OperatorId op = o.allocation ? context.provenance.maker(o.allocation) : o.place.op;
    const LayoutId layout = layout_of(context, o);
    const Look look{node ? p.nodes.type[node] : StringId{}, o.place.field, layout,
                    op ? p.operators.name[op] : StringId{}, layout ? o.bytes.value : 0};
    Seen& seen = looks.try_emplace(look, Seen{&o}).first->second;
    seen.are_of_one_size = seen.are_of_one_size && o.bytes == seen.biggest->bytes;
    if (o.bytes > seen.biggest->bytes) seen.biggest = &o;
    ++seen.count;
  }
  std::vector<std::pair<Look, Seen>> sorted(looks.begin(), looks.end());
  std::ranges::stable_sort(sorted, std::ranges::greater(),
                           [](const auto& entry) { return entry.second.biggest->bytes; });
  finding.evidence_left_out = sorted.size() > kMostEvidence ? sorted.size() - kMostEvidence : 0;
  sorted.resize(std::min(sorted.size(), kMostEvidence));
  const Holders holders(context);
  for (const auto& [look, seen] : sorted) {
    const auto& [node, field, layout, op, bytes] = look;
    finding.evidence.push_back({seen.biggest->bytes, seen.are_of_one_size, seen.count, text_of(context.text, node),
                                text_of(context.text, field), text_of(context.text, op),
                                layout ? layout_text(context.text, layout) : "", holders.of(*seen.biggest),
                                seen.biggest->when.begin, seen.biggest->when.end});
  }
}

}  // namespace

Finding describe_place(const Context& context, Places& places, const FoundGroup& group, EditLine edit) {
  const Text& text = context.text;
  const Process& p = context.process;
  Finding finding;
  finding.bytes = group.bytes;
  finding.occurrences = group.occurrences.size();
  const Occurrence& shown = *std::ranges::max_element(group.occurrences, {}, &Occurrence::bytes);
  const Place& place = shown.place;
  if (place.node) finding.node = text_of(text, p.nodes.type[place.node]);
  finding.field = text_of(text, place.field);
  if (place.op) finding.op = text_of(text, p.operators.name[place.op]);

  std::set<ModuleId> modules;
  std::set<uint32_t> steps;
  for (const Occurrence& o : group.occurrences) {
    modules.insert(o.place.module);
    steps.insert(step_index_at(context.steps, o.when.begin));
  }
  finding.sites = modules.size();
  finding.module = modules.size() == 1 && place.module ? text_of(text, text.module_path[place.module])
                                                       : std::string(places.pattern(group.key));
  finding.step_count = static_cast<uint32_t>(steps.size());
  for (const uint32_t step : steps) {
    // The first ones, and always the last.
    if (finding.steps.size() + 1 < kMostSteps || step == *steps.rbegin()) finding.steps.push_back(step);
  }
  finding.stack = peak::frames_of(text, place.stack);
  const FrameId own = edit ? edit.frame : own_frame(text, place.stack), library = places.source(place.stack);
  finding.source = peak::frame_of(text, own);
  if (edit.line != 0) finding.source.line = edit.line;
  finding.innermost = peak::frame_of(text, library);
  if (library && !is_own_frame(text, library) && library != own) finding.library = peak::frame_of(text, library);
  if (own && context.sources != nullptr) finding.statement = statement_at(context, own, finding.source.line);
  add_evidence(context, group, finding);
  return finding;
}

}  // namespace tapelens::advise
