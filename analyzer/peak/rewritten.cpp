#include "analyzer/peak/rewritten.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "analyzer/model/attribution.h"
#include "analyzer/model/most_at_once.h"

namespace tapelens::peak {

namespace {

class Describer {
 public:
  explicit Describer(const Analysis& analysis)
      : p_(analysis.process()), text_(analysis.text()), provenance_(analysis.provenance()), steps_(analysis.steps()) {}

  Rewritten describe() {
    for (uint32_t row = 1; row <= p_.rewrites.rows(); ++row) add(RewriteId{row});
    std::ranges::stable_partition(out_.sites, [](const RewrittenSite& site) { return site.reason.empty(); });
    for (auto& [key, total] : totals_) {
      finish(total);
      (total.total.reason.empty() ? out_.applied : out_.skipped).push_back(total.total);
    }
    finish(all_);
    out_.all = all_.total;
    for (auto* totals : {&out_.applied, &out_.skipped}) {
      std::ranges::stable_sort(*totals, std::ranges::greater(), [](const RewrittenTotal& t) { return t.bytes; });
    }
    return std::move(out_);
  }

 private:
  struct Total {
    RewrittenTotal total;
    std::vector<model::Presence> bytes, kept;
  };

  void add(RewriteId row) {
    const model::Rewrites& t = p_.rewrites;
    const NodeId node = t.node[row];
    // The operator that made the node, not the one in which the last holder of the storage released it.
    const OperatorId op = node ? p_.nodes.op[node] : t.op[row];
    const model::StackId stack = t.stack[row] ? t.stack[row] : model::stack_of(p_, text_, op);
    const model::ModuleCallId call = node ? model::ModuleCallId{} : t.module_call[row];
    const ModuleId module = call ? p_.module_calls.module[call] : model::module_of(p_, op);
    const StringId name = op ? p_.operators.name[provenance_.called(op)] : StringId{};
    const StringId type = node ? p_.nodes.type[node] : StringId{};
    const model::FrameId source = source_frame(text_, stack);

    const auto key = std::tuple(t.rewrite[row].value, t.reason[row].value, type.value, t.field[row].value, t.index[row],
                                name.value, module.value, source.value);
    const auto [at, is_new] = sites_.try_emplace(key, out_.sites.size());
    if (is_new) out_.sites.push_back(site(row, name, module, type, source));
    ++out_.sites[at->second].times;

    Total& total = totals_[{t.rewrite[row].value, t.reason[row].value}];
    total.total.rewrite = text_.string(t.rewrite[row]);
    total.total.reason = reason(row);
    total.total.level = t.level(row);
    count(total, row, is_new);
    if (t.applied(row)) count(all_, row, is_new);
  }

  void count(Total& total, RewriteId row, bool is_new_site) {
    const model::Rewrites& t = p_.rewrites;
    total.total.sites += is_new_site;
    ++total.total.times;
    const model::SaveId save = t.save[row];
    const Time begin = t.time[row];
    // Without a recorded save, the memory counts to the end of the step.
    const Time end = save ? std::max(begin, t.until[row]) : std::max(begin, step_at(steps_, begin).when.end);
    total.bytes.push_back({save ? p_.saves.allocation[save] : AllocationId{}, t.bytes[row], {begin, end}});
    total.kept.push_back({{}, t.kept[row], {begin, end}});
  }

  static void finish(Total& total) {
    total.total.bytes = most_at_once(std::move(total.bytes));
    total.total.kept = most_at_once(std::move(total.kept));
  }

  // A damaged recording may skip a rewrite without a reason.
  std::string reason(RewriteId row) const {
    if (p_.rewrites.applied(row)) return {};
    const std::string_view said = text_.string(p_.rewrites.reason[row]);
    return said.empty() ? "no reason was recorded" : std::string(said);
  }

  RewrittenSite site(RewriteId row, StringId op, ModuleId module, StringId type, model::FrameId source) const {
    RewrittenSite made;
    made.rewrite = text_.string(p_.rewrites.rewrite[row]);
    made.reason = reason(row);
    made.level = p_.rewrites.level(row);
    made.module = module ? text_.string(text_.module_path[module]) : "";
    made.op = text_.string(op);
    made.node = text_.string(type);
    made.field = text_.string(p_.rewrites.field[row]);
    if (source) {
      made.file = text_.string(text_.frame_file[source]);
      made.function = text_.string(text_.frame_function[source]);
      made.line = text_.frame_line[source];
    }
    return made;
  }

  const Process& p_;
  const Text& text_;
  const Provenance& provenance_;
  const std::vector<Step>& steps_;
  std::map<std::tuple<uint32_t, uint32_t, uint32_t, uint32_t, uint32_t, uint32_t, uint32_t, uint32_t>, size_t> sites_;
  std::map<std::pair<uint32_t, uint32_t>, Total> totals_;
  Total all_;
  Rewritten out_;
};

}  // namespace

Rewritten rewritten(const Analysis& analysis) {
  if (analysis.process().rewrites.rows() == 0) return {};
  return Describer(analysis).describe();
}

}  // namespace tapelens::peak
