#include "gui/models/search.h"

#include <QStringList>
#include <algorithm>
#include <unordered_map>

#include "analyzer/model/attribution.h"
#include "gui/models/filter_words.h"

namespace tapelens::gui {

namespace {

constexpr size_t kMostListed = 1000;
constexpr qsizetype kMostWords = 32;  // one bit each

using Words = uint32_t;  // bit i: the text contains word i

// Finds the words of the filter that a text contains.
class Finder {
 public:
  explicit Finder(const QString& filter) {
    const FilterWords typed(filter);
    words_ = (typed.wanted + typed.left_out).mid(0, kMostWords);
    for (qsizetype i = 0; i < words_.size(); ++i) (i < typed.wanted.size() ? wanted_ : left_out_) |= Words{1} << i;
  }

  Words in(std::string_view utf8) const {
    const QString text = QString::fromUtf8(utf8.data(), static_cast<qsizetype>(utf8.size()));
    Words found = 0;
    for (qsizetype i = 0; i < words_.size(); ++i) {
      if (words_[i].is_in(text)) found |= Words{1} << i;
    }
    return found;
  }
  bool is_match(Words found) const { return (found & wanted_) == wanted_ && (found & left_out_) == 0; }

 private:
  QList<FilterWord> words_;
  Words wanted_ = 0, left_out_ = 0;
};

}  // namespace

SearchResult search(const Document& document, const Subject& subject, const QString& filter) {
  const Text& text = document.text();
  const Process& p = subject.of.process;
  const Finder finder(filter);
  SearchResult out;
  out.filter = filter;

  // A recording has few texts and many allocations, so each text is searched once.
  const size_t strings = text.string_begin.size() - 1;
  std::vector<Words> by_string(strings);
  out.is_name.resize(strings);
  for (uint32_t id = 1; id < strings; ++id) {
    by_string[id] = finder.in(text.string(model::StringId{id}));
    out.is_name[id] = finder.is_match(by_string[id]);
  }
  std::vector<Words> by_frame(size_t{text.frame_file.rows()} + 1);
  for (uint32_t id = 1; id < by_frame.size(); ++id)
    by_frame[id] = finder.in(peak::frame_text(text, model::FrameId{id}));
  std::vector<Words> by_stack(text.stack_begin.size() - 1);
  for (uint32_t id = 1; id < by_stack.size(); ++id) {
    by_stack[id] = by_frame[source_frame(text, model::StackId{id}).value];
  }
  std::array<Words, peak::kHolderKinds> by_category{};
  for (size_t kind = 0; kind < by_category.size(); ++kind) {
    by_category[kind] = finder.in(peak::category_name(static_cast<peak::HolderKind>(kind)));
  }

  // "ConvolutionBackward0.input" is one word over two texts.
  std::unordered_map<uint64_t, Words> by_field;
  const auto field_words = [&](model::NodeId node, model::StringId field) {
    const uint64_t key = uint64_t{p.nodes.type[node].value} << 32 | field.value;
    const auto [at, fresh] = by_field.try_emplace(key);
    if (fresh) at->second = finder.in(peak::field_text(p, text, node, field));
    return at->second;
  };
  std::vector<Words> found(size_t{p.allocations.rows()} + 1);
  for (uint32_t row = 1; row <= p.saves.rows(); ++row) {
    const model::SaveId save{row};
    found[p.saves.allocation[save].value] |= field_words(p.saves.node[save], p.saves.field[save]);
  }
  for (uint32_t row = 1; row <= p.roles.rows(); ++row) {
    const model::RoleId role{row};
    found[p.roles.allocation[role].value] |= by_string[p.roles.name[role].value];
  }
  const auto& category = subject.curves[static_cast<size_t>(peak::By::category)]->grouping().of;
  out.is_allocation.resize(found.size());
  std::vector<AllocationId> listed;
  for (uint32_t row = 1; row < found.size(); ++row) {
    const AllocationId id{row};
    Words& mine = found[row];
    mine |= by_category[category[row]] | by_string[operator_name_of(p, text, id).value] |
            by_string[text.module_path[module_of(p, id)].value] | by_stack[stack_of(p, text, id).value];
    if (!finder.is_match(mine)) continue;
    if (p.allocations.device[id] != subject.device.device || p.allocations.origin[id] != model::Origin::allocator)
      continue;
    out.is_allocation[row] = 1;
    ++out.allocations;
    listed.push_back(id);
  }
  out.curve = picture::Portion(subject.timeline, out.is_allocation);
  if (listed.size() > kMostListed) {
    std::ranges::nth_element(listed, listed.begin() + kMostListed, [&](AllocationId a, AllocationId b) {
      return p.allocations.bytes[a] > p.allocations.bytes[b];
    });
    listed.resize(kMostListed);
    std::ranges::sort(listed);
  }
  out.biggest = std::move(listed);
  return out;
}

}  // namespace tapelens::gui
