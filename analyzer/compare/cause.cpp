#include <algorithm>
#include <tuple>

#include "analyzer/compare/gate.h"
#include "analyzer/text/format.h"

namespace tapelens::compare {

namespace {

struct Candidate {
  const ChangedFile* file;
  const ChangedLine* line;
  // Bytes that grew and that relate to the line: the line is on their stack, names their parameter or module, uses the
  // result of their statement, or is in a function on their stack.
  Bytes on_stack, named, used, in_function;

  auto rank() const { return std::tuple(line->can_matter(), on_stack, named, used, in_function); }
};

bool is_of_function(const Frame& frame, const std::string& function) {
  return !function.empty() && (frame.function == function || frame.function.ends_with("." + function));
}

// Whether a line names a part of the parameter or the module: "backbone" of "backbone.weight". Names that every module
// has do not count.
bool names_row(const ChangedLine& line, const Row& row) {
  for (const std::string* text : {&line.text, &line.old_text}) {
    for (const std::string_view name : names_in(*text)) {
      if (name == "weight" || name == "bias" || name == "self") continue;
      for (const std::string* path : {&row.name, &row.module}) {
        for (const std::string_view part : names_in(*path)) {
          if (part == name) return true;
        }
      }
    }
  }
  return false;
}

// Whether a line such as "kept.append(out.logits)" uses the result of the row's statement, "out = model(x)".
bool uses_result(const ChangedLine& line, const Row& row) {
  const size_t equals = row.statement.find(" = ");
  if (equals == std::string::npos) return false;
  const auto used = names_in(line.text);
  const std::string bound = row.statement.substr(0, equals);
  return std::ranges::any_of(names_in(bound), [&](std::string_view name) {
    return name != "self" && std::ranges::find(used, name) != used.end();
  });
}

Candidate weighed(const ChangedFile& file, const ChangedLine& line, const std::vector<ComparedRow>& grown) {
  Candidate out{&file, &line, {}, {}, {}, {}};
  for (const ComparedRow& row : grown) {
    if (!row.b) continue;
    const auto has = [&](auto is) {
      return std::ranges::any_of(row.b->stack, [&](const Frame& f) { return f.file == file.file && is(f); });
    };
    if (has([&](const Frame& f) { return f.line == line.line; })) out.on_stack += row.difference();
    if (has([&](const Frame& f) { return is_of_function(f, line.function); })) out.in_function += row.difference();
    if (names_row(line, *row.b)) out.named += row.difference();
    if (row.b->source.file == file.file && is_of_function(row.b->source, line.function) && uses_result(line, *row.b)) {
      out.used += row.difference();
    }
  }
  return out;
}

std::string why_of(const Candidate& best, size_t changed) {
  std::string why = kind_name(best.line->kind);
  if (best.line->kind == ChangedLine::Kind::changed) why += ", before: " + best.line->old_text;
  if (changed == 1) return why + "; the only line that changed";
  const std::string among = ", of " + text::plural(changed, "changed line", "changed lines");
  if (best.on_stack > Bytes{}) return why + "; on the stack of +" + text::bytes_text(best.on_stack) + among;
  if (best.named > Bytes{}) return why + "; names what grew by " + text::bytes_text(best.named) + among;
  if (best.used > Bytes{}) return why + "; uses what grew by " + text::bytes_text(best.used) + among;
  if (best.in_function > Bytes{}) return why + "; in a function that allocates what grew" + among;
  return why + "; the first" + among + ": none of them allocates what grew";
}

}  // namespace

Cause cause_of(const Comparison& comparison, const std::vector<ComparedRow>& grown) {
  std::vector<Candidate> all;
  for (const ChangedFile& file : comparison.changes) {
    for (const ChangedLine& line : file.lines) all.push_back(weighed(file, line, grown));
  }
  if (!all.empty()) {
    const Candidate& best = *std::ranges::max_element(all, {}, &Candidate::rank);
    const bool matters = best.line->can_matter();
    const auto alike =
        std::ranges::count_if(all, [&](const Candidate& one) { return one.line->can_matter() == matters; });
    return {{best.file->file, best.line->function, best.line->line},
            best.line->text,
            why_of(best, static_cast<size_t>(alike))};
  }
  const KnownFinding* finding = nullptr;
  for (const KnownFinding& one : comparison.new_findings) {
    if (one.gain > Bytes{} && one.severity > check::Severity::info && one.source.line != 0 &&
        (finding == nullptr || one.gain > finding->gain)) {
      finding = &one;
    }
  }
  if (finding != nullptr) return {finding->source, finding->statement, "new finding: " + finding->title};
  if (grown.empty()) return {};
  const Row& most = grown.front().shown();
  return {most.source, most.statement, "allocates the largest part of the growth"};
}

}  // namespace tapelens::compare
