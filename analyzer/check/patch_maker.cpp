#include "analyzer/check/patch_maker.h"

#include <algorithm>
#include <span>
#include <utility>

#include "analyzer/check/patch_tokens.h"
#include "analyzer/model/attribution.h"

namespace tapelens::check {
namespace {

// Whether a number can replace the tensor in a variable: the variable starts as a number, and all other statements only
// print it.
bool may_be_number(const PythonSource& source, std::string_view name, size_t statement) {
  bool begins_as_number = false;
  const auto& all = source.statements();
  for (size_t i = 0; i < all.size(); ++i) {
    const Tokens tokens(source.begin(all[i]), source.end(all[i]));
    if (i == statement || !mentions(tokens, name)) continue;
    if (tokens.size() == 3 && is(tokens[0], name) && is(tokens[1], "=") && tokens[2].kind == Token::Kind::number) {
      begins_as_number = true;
      continue;
    }
    if (tokens.size() < 4 || !is(tokens[0], "print") || !is(tokens[1], "(")) return false;
    for (size_t t = 0; t < tokens.size(); ++t) {
      if (is(tokens[t], name) && t + 1 < tokens.size() && (is(tokens[t + 1], ".") || is(tokens[t + 1], "[")))
        return false;
      if (tokens[t].kind != Token::Kind::string) continue;
      for (const char* suffix : {".", "["}) {
        if (tokens[t].text.find(std::string(name) + suffix) != std::string_view::npos) return false;
      }
    }
  }
  return begins_as_number;
}

// Whether numbers can replace the tensors in a list: the list starts empty, and the program only prints its length or
// its sum.
bool may_hold_numbers(const PythonSource& source, Tokens list, size_t statement) {
  const auto& all = source.statements();
  bool begins_empty = false;
  for (size_t i = 0; i < all.size(); ++i) {
    const Tokens tokens(source.begin(all[i]), source.end(all[i]));
    if (i == statement || !mentions(tokens, list.front().text)) continue;
    if (list.size() != 1) return false;
    if (tokens.size() == 4 && is(tokens[0], list[0].text) && is(tokens[1], "=") && is(tokens[2], "[") &&
        is(tokens[3], "]")) {
      begins_empty = true;
      continue;
    }
    if (tokens.size() < 4 || !is(tokens[0], "print") || !is(tokens[1], "(")) return false;
    for (size_t t = 2; t < tokens.size(); ++t) {
      if (tokens[t].kind == Token::Kind::string && mentions(tokens.subspan(t, 1), list[0].text)) return false;
      if (!is(tokens[t], list[0].text)) continue;
      const bool is_taken = is(tokens[t - 1], "(") && (is(tokens[t - 2], "sum") || is(tokens[t - 2], "len")) &&
                            t + 2 < tokens.size() && is(tokens[t + 1], ")") && !is(tokens[t + 2], ".");
      if (!is_taken) return false;
    }
  }
  return begins_empty;
}

}  // namespace

bool makes_number(const Context& context, OperatorId op) {
  const Process& p = context.process;
  for (uint32_t row = 1; row <= context.text.layout_element_bytes.rows(); ++row) {
    if (context.text.layout_element_bytes[LayoutId{row}] == 2) return false;
  }
  // An operator in place makes no allocation: check that all its inputs have a single element.
  bool any = false;
  for (const uint32_t input : context.provenance.inputs(op)) {
    if (input == 0) continue;
    if (p.allocations.bytes[AllocationId{input}] != Bytes{4}) return false;
    any = true;
  }
  for (const AllocationId allocation : p.allocations.ids()) {
    if (context.provenance.maker(allocation) != op || p.freed(allocation) <= p.operators.end[op]) continue;
    if (p.allocations.bytes[allocation] == Bytes{4}) return true;
  }
  return any;
}

// ---- spots

std::optional<RecordedStatement> PatchMaker::spot(StackId stack) const { return spot(own_frame(context_.text, stack)); }

FileEdits PatchMaker::edits(const RecordedStatement& spot, std::vector<Edit> edits) {
  return {file_edit(spot.path, spot.source.all_lines(), std::move(edits))};
}

// ---- detached values

FileEdits PatchMaker::detach_summand(StackId stack, bool is_number) const {
  const auto at = spot(stack);
  if (!at) return {};
  const Tokens tokens(at->source.begin(at->here()), at->source.end(at->here()));
  const size_t target = dotted(tokens, 0);
  if (target == 0 || target == tokens.size()) return {};
  const Tokens total = tokens.first(target);
  size_t begin = target + 1, count = 0;
  if (is(tokens[target], "+=")) {
    count = dotted(tokens, begin);
    if (begin + count != tokens.size()) return {};
  } else if (is(tokens[target], "=")) {
    const size_t first = dotted(tokens, begin);
    if (first == 0 || begin + first >= tokens.size() || !is(tokens[begin + first], "+")) return {};
    const size_t other = begin + first + 1, second = dotted(tokens, other);
    if (second == 0 || other + second != tokens.size()) return {};
    const bool is_first = same(tokens.subspan(begin, first), total);
    if (is_first == same(tokens.subspan(other, second), total)) return {};
    count = is_first ? second : first;
    begin = is_first ? other : begin;
  }
  if (count == 0) return {};
  const bool as_number = is_number && target == 1 && may_be_number(at->source, total[0].text, at->statement);
  return edits(*at, {put_behind(at->source, tokens[begin + count - 1], as_number ? ".item()" : ".detach()")});
}

FileEdits PatchMaker::detach_collected(StackId stack, bool is_number, bool owns_more) const {
  const auto at = spot(stack);
  if (!at) return {};
  const PythonSource& source = at->source;
  const auto& all = source.statements();
  // The tokens of the value that a statement appends to `list`; empty: the statement is not an append.
  const auto appended = [&](size_t statement, Tokens& list) -> Tokens {
    const Tokens tokens(source.begin(all[statement]), source.end(all[statement]));
    const size_t name = dotted(tokens, 0);
    if (name < 3 || !all[statement].is_alone || !is(tokens[name - 1], "append") || tokens.size() < name + 3) return {};
    if (!is(tokens[name], "(") || closing(tokens, name) + 1 != tokens.size()) return {};
    list = tokens.first(name - 2);
    return tokens.subspan(name + 1, tokens.size() - name - 2);
  };
  Tokens list, what = appended(at->statement, list);
  size_t statement = at->statement;
  if (!what.empty()) {
    // The value must be the result of one call.
    const size_t name = dotted(what, 0);
    if (name == 0 || name == what.size() || !is(what[name], "(") || closing(what, name) + 1 != what.size()) return {};
  } else {
    const Tokens tokens(source.begin(at->here()), source.end(at->here()));
    if (tokens.size() < 3 || tokens[0].kind != Token::Kind::name || !is(tokens[1], "=") ||
        find_outside(tokens, "=", 2) != tokens.size()) {
      return {};
    }
    // Finds the only append of the assigned name later in the block, before another assignment to the name.
    for (size_t i = at->statement + 1; i < all.size() && all[i].indent.size() >= at->here().indent.size(); ++i) {
      if (all[i].indent != at->here().indent) continue;
      Tokens into;
      const Tokens put = appended(i, into);
      if (put.size() == 1 && put[0].text == tokens[0].text) {
        if (!what.empty()) return {};
        what = put;
        list = into;
        statement = i;
      }
      const Tokens others(source.begin(all[i]), source.end(all[i]));
      if (is(others[0], tokens[0].text) && others.size() > 1 && !is(others[1], ".")) break;
    }
    if (what.empty()) return {};
  }
  const bool as_number = is_number && may_hold_numbers(source, list, statement);
  const char* value = as_number ? ".item()" : owns_more ? ".detach().clone()" : ".detach()";
  return edits(*at, {put_behind(source, what.back(), value)});
}

std::optional<PatchMaker::Carrying> PatchMaker::carrying(StackId stack) const {
  std::optional<Carrying> found;
  for (const FrameId frame : context_.text.stack(stack)) {
    auto at = spot(frame);
    if (!at) continue;
    const Tokens tokens(at->source.begin(at->here()), at->source.end(at->here()));
    const size_t equals = find_outside(tokens, "=");
    if (equals == tokens.size() || find_outside(tokens, "=", equals + 1) != tokens.size()) continue;
    const Tokens value = tokens.subspan(equals + 1);
    std::vector<std::string> names;
    for (size_t i = 0; i < equals;) {
      const size_t count = dotted(tokens, i);
      if (count == 0) {
        ++i;
        continue;
      }
      const Tokens name = tokens.subspan(i, count);
      i += count;
      for (size_t v = 0; v + count <= value.size(); ++v) {
        if (dotted(value, v) == count && (v == 0 || !is(value[v - 1], ".")) && same(value.subspan(v, count), name)) {
          names.push_back(text_of(name));
          break;
        }
      }
    }
    if (names.empty()) continue;
    // A function that takes and returns the state is not the place to detach: continue with its caller. An attribute
    // stays in its own statement.
    const bool is_local =
        std::ranges::none_of(names, [](const std::string& name) { return name.find('.') != std::string::npos; });
    found = Carrying{std::move(*at), std::move(names)};
    if (!is_local || context_.text.string(context_.text.frame_function[frame]) == "<module>") break;
  }
  return found;
}

FrameId PatchMaker::carrying_frame(StackId stack) const {
  const auto found = carrying(stack);
  return found ? found->spot.frame : FrameId{};
}

FileEdits PatchMaker::detach_carried(StackId stack, std::string_view op) const {
  const auto found = carrying(stack);
  if (!found) return {};
  const RecordedStatement& at = found->spot;
  const bool is_tuple = op == "aten::lstm";
  // The result of a module may have any structure. Only these operators have a known result.
  const bool is_known =
      at.frame == own_frame(context_.text, stack) || is_tuple || op == "aten::gru" || op.starts_with("aten::rnn_");
  if (found->names.size() != 1 || !is_known || at.source.is_header(at.statement)) return {};
  const std::string& name = found->names.front();
  const std::string detached = is_tuple ? "tuple(each.detach() for each in " + name + ")" : name + ".detach()";
  return edits(at, {put_after(at.source, at.here().last, {std::string(at.here().indent) + name + " = " + detached})});
}

// ---- zero_grad

FileEdits PatchMaker::set_to_none(StackId stack) const {
  const auto at = spot(stack);
  if (!at) return {};
  const Tokens tokens(at->source.begin(at->here()), at->source.end(at->here()));
  const size_t name = dotted(tokens, 0);
  if (name < 3 || tokens.size() != name + 5 || !is(tokens[name - 1], "zero_grad") || !is(tokens[name], "(") ||
      !is(tokens[name + 1], "set_to_none") || !is(tokens[name + 2], "=") || !is(tokens[name + 3], "False")) {
    return {};
  }
  const Token& value = tokens[name + 3];
  const std::string_view line = at->source.line(value.line);
  std::string changed(line);
  changed.replace(static_cast<size_t>(value.text.data() - line.data()), value.text.size(), "True");
  return edits(*at, {{value.line, 1, {changed}}});
}

std::optional<RecordedStatement> recorded_statement_at(const Context& context, FrameId frame) {
  const Text& text = context.text;
  if (context.sources == nullptr || !frame || text.frame_line[frame] == 0) return std::nullopt;
  auto content = recorded_source(text, text.string(text.frame_file[frame]), *context.sources);
  if (!content) return std::nullopt;
  const std::string path = in_repository(text.string(text.frame_file[frame]), *context.sources);
  auto source = PythonSource::parse(std::move(*content));
  if (!source) return std::nullopt;
  const size_t statement = source->at(text.frame_line[frame] - 1);
  if (statement == source->statements().size() || !source->statements()[statement].is_alone) return std::nullopt;
  return RecordedStatement{path, std::move(*source), statement, frame};
}

}  // namespace tapelens::check
