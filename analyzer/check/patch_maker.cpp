#include "analyzer/check/patch_maker.h"

#include <algorithm>
#include <set>
#include <span>
#include <utility>

#include "analyzer/model/attribution.h"
#include "trace/record.h"

namespace tapelens::check {

namespace {

using Tokens = std::span<const Token>;

bool is(const Token& token, std::string_view text) { return token.text == text && token.kind != Token::Kind::string; }

// "self.total": how many tokens from `at` on are one; 0: none.
size_t dotted(Tokens tokens, size_t at) {
  if (at >= tokens.size() || tokens[at].kind != Token::Kind::name) return 0;
  size_t count = 1;
  while (at + count + 1 < tokens.size() && is(tokens[at + count], ".") &&
         tokens[at + count + 1].kind == Token::Kind::name) {
    count += 2;
  }
  return count;
}

bool same(Tokens a, Tokens b) {
  return std::ranges::equal(a, b, [](const Token& x, const Token& y) { return x.text == y.text; });
}

std::string text_of(Tokens tokens) {
  return tokens.empty()
             ? std::string()
             : std::string(tokens.front().text.data(), tokens.back().text.data() + tokens.back().text.size());
}

int depth_change(const Token& token) {
  if (token.kind != Token::Kind::op || token.text.size() != 1) return 0;
  const char c = token.text.front();
  return c == '(' || c == '[' || c == '{' ? 1 : c == ')' || c == ']' || c == '}' ? -1 : 0;
}

// The bracket that closes the one at `open`; what is given has all brackets closed.
size_t closing(Tokens tokens, size_t open) {
  int depth = 0;
  for (size_t i = open; i < tokens.size(); ++i) {
    depth += depth_change(tokens[i]);
    if (depth == 0) return i;
  }
  return tokens.size();
}

// The first such token outside of all brackets; size(): there is none.
size_t find_outside(Tokens tokens, std::string_view text, size_t from = 0) {
  int depth = 0;
  for (size_t i = from; i < tokens.size(); ++i) {
    if (depth == 0 && is(tokens[i], text)) return i;
    depth += depth_change(tokens[i]);
  }
  return tokens.size();
}

bool mentions(Tokens tokens, std::string_view name) {
  for (size_t i = 0; i < tokens.size(); ++i) {
    const bool is_attribute = i > 0 && is(tokens[i - 1], ".");
    if (tokens[i].kind == Token::Kind::name && tokens[i].text == name && !is_attribute) return true;
    // An f-string may.
    if (tokens[i].kind == Token::Kind::string && tokens[i].text.find(name) != std::string_view::npos) return true;
  }
  return false;
}

// A line with something put in behind a token.
Edit put_behind(const PythonSource& source, const Token& token, std::string_view what) {
  const std::string_view line = source.line(token.line);
  const auto column = static_cast<size_t>(token.text.data() + token.text.size() - line.data());
  std::string changed(line);
  return {token.line, 1, {changed.insert(column, what)}};
}

// New lines behind a line.
Edit put_after(const PythonSource& source, uint32_t line, const std::vector<std::string>& texts) {
  Edit edit{line + 1, 0, {}};
  if (!source.line(line).ends_with('\n'))
    edit = {line, 1, {std::string(source.line(line)) + std::string(source.line_break())}};
  for (const std::string& text : texts) edit.added.push_back(text + std::string(source.line_break()));
  return edit;
}

bool imports_torch(const PythonSource& source) {
  return std::ranges::any_of(source.statements(), [&](const Statement& s) {
    const Tokens tokens(source.begin(s), source.end(s));
    return s.indent.empty() && tokens.size() == 2 && is(tokens[0], "import") && is(tokens[1], "torch");
  });
}

// Whether a number can stand for a name that was a tensor: it begins as one, and all that is done with it besides is to
// print it or to make a number of it.
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

// Whether what is to be under torch.no_grad() takes gradients itself, be it where the recorded run never came.
bool takes_gradients(const Token* begin, const Token* end) {
  for (const Token* token = begin; token + 1 < end; ++token) {
    if (token->kind != Token::Kind::name) continue;
    if (token->text == "requires_grad" && is(token[1], "=")) return true;
    for (const char* call : {"backward", "manual_backward", "grad", "value_and_grad", "step", "requires_grad_",
                             "enable_grad", "set_grad_enabled"}) {
      if (token->text == call && is(token[1], "(")) return true;
    }
  }
  return false;
}

// Whether numbers can stand in a list that had tensors: it begins empty, and is only counted and summed up.
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
  // In place it makes none: then all that it reads are single elements.
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

// ---- where

std::optional<PatchMaker::Spot> PatchMaker::spot(FrameId frame) const {
  const Text& text = context_.text;
  if (context_.sources == nullptr || !frame || text.frame_line[frame] == 0) return std::nullopt;
  auto content = recorded_source(text, text.string(text.frame_file[frame]), *context_.sources);
  if (!content) return std::nullopt;
  const std::string path = in_repository(text.string(text.frame_file[frame]), *context_.sources);
  auto source = PythonSource::parse(std::move(*content));
  if (!source) return std::nullopt;
  const size_t statement = source->at(text.frame_line[frame] - 1);
  if (statement == source->statements().size() || !source->statements()[statement].is_alone) return std::nullopt;
  return Spot{path, std::move(*source), statement, frame};
}

std::optional<PatchMaker::Spot> PatchMaker::spot(StackId stack) const { return spot(own_frame(context_.text, stack)); }

FileEdits PatchMaker::edits(const Spot& spot, std::vector<Edit> edits) {
  return {file_edit(spot.path, spot.source.all_lines(), std::move(edits))};
}

// ---- what keeps a graph

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

FileEdits PatchMaker::detach_collected(StackId stack, bool is_number) const {
  const auto at = spot(stack);
  if (!at) return {};
  const PythonSource& source = at->source;
  const auto& all = source.statements();
  // What is put into `list` by a statement: its tokens; none: it is no append.
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
    // One call, of which the result is put in.
    const size_t name = dotted(what, 0);
    if (name == 0 || name == what.size() || !is(what[name], "(") || closing(what, name) + 1 != what.size()) return {};
  } else {
    const Tokens tokens(source.begin(at->here()), source.end(at->here()));
    if (tokens.size() < 3 || tokens[0].kind != Token::Kind::name || !is(tokens[1], "=") ||
        find_outside(tokens, "=", 2) != tokens.size()) {
      return {};
    }
    // The one append of that name behind it in the same block, before it is anything else.
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
  return edits(*at, {put_behind(source, what.back(), as_number ? ".item()" : ".detach()")});
}

FileEdits PatchMaker::detach_carried(StackId stack, std::string_view op) const {
  const bool is_tuple = op == "aten::lstm";
  const FrameId shown = own_frame(context_.text, stack);
  for (const FrameId frame : context_.text.stack(stack)) {
    const auto at = spot(frame);
    if (!at) continue;
    const Tokens tokens(at->source.begin(at->here()), at->source.end(at->here()));
    const size_t equals = find_outside(tokens, "=");
    if (equals == tokens.size() || find_outside(tokens, "=", equals + 1) != tokens.size()) continue;
    const Tokens value = tokens.subspan(equals + 1);
    std::vector<Tokens> carried;
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
          carried.push_back(name);
          break;
        }
      }
    }
    if (carried.empty()) continue;
    // What a module gives back may be anything; of these it is known.
    const bool is_known = frame == shown || is_tuple || op == "aten::gru" || op.starts_with("aten::rnn_");
    if (carried.size() != 1 || !is_known || at->source.is_header(at->statement)) return {};
    const std::string name = text_of(carried[0]);
    const std::string detached = is_tuple ? "tuple(each.detach() for each in " + name + ")" : name + ".detach()";
    return edits(*at,
                 {put_after(at->source, at->here().last, {std::string(at->here().indent) + name + " = " + detached})});
  }
  return {};
}

// ---- what needs no graph

std::vector<uint8_t> PatchMaker::needed_frames(const IsFree& is_free) const {
  const Process& p = context_.process;
  const Text& text = context_.text;
  std::vector<uint8_t> frames(text.frame_file.raw.size()), seen(text.stack_begin.size());
  for (uint32_t row = 1; row <= p.nodes.rows(); ++row) {
    if (is_free(NodeId{row})) continue;
    const StackId stack = stack_of(p, text, p.nodes.op[NodeId{row}]);
    if (std::exchange(seen[stack.value], 1) != 0) continue;
    for (const FrameId frame : text.stack(stack)) frames[frame.value] = 1;
  }
  return frames;
}

bool PatchMaker::is_function_needed(FrameId frame, const std::vector<uint8_t>& needed) const {
  const Text& text = context_.text;
  for (uint32_t row = 1; row < needed.size(); ++row) {
    const FrameId other{row};
    if (needed[row] != 0 && text.frame_file[other] == text.frame_file[frame] &&
        text.frame_function[other] == text.frame_function[frame]) {
      return true;
    }
  }
  return false;
}

bool PatchMaker::is_needed(const Spot& spot, size_t first, size_t end, const std::vector<uint8_t>& needed) const {
  const Text& text = context_.text;
  const auto& all = spot.source.statements();
  for (uint32_t row = 1; row < needed.size(); ++row) {
    const FrameId other{row};
    if (needed[row] == 0 || text.frame_file[other] != text.frame_file[spot.frame]) continue;
    const uint32_t line = text.frame_line[other];
    if (line > all[first].first && line <= all[end - 1].last + 1) return true;
  }
  return false;
}

FileEdits PatchMaker::decorated(const Spot& spot) const {
  const PythonSource& source = spot.source;
  std::string_view name = context_.text.string(context_.text.frame_function[spot.frame]);
  name = name.substr(name.rfind('.') + 1);
  for (size_t header = source.header_of(spot.statement); header < source.statements().size();
       header = source.header_of(header)) {
    const Statement& s = source.statements()[header];
    const Token* const begin = source.begin(s);
    if (is(*begin, "class") || is(*begin, "async")) return {};
    if (!is(*begin, "def")) continue;
    if (!is(begin[1], name)) return {};
    // The graph of what a generator gives out is made while others run.
    const Token* const end = source.end(source.statements()[source.block_end(header) - 1]);
    for (const Token* token = begin; token < end; ++token) {
      if (is(*token, "yield") || is(*token, "await")) return {};
    }
    if (takes_gradients(begin, end)) return {};
    return edits(spot, {{s.first, 0, {std::string(s.indent) + "@torch.no_grad()" + std::string(source.line_break())}}});
  }
  return {};
}

FileEdits PatchMaker::wrapped(const Spot& spot, const std::vector<uint8_t>& needed) const {
  const PythonSource& source = spot.source;
  size_t first = spot.statement, end = first + 1;
  const auto take_loop = [&](size_t header) {
    const size_t after = source.block_end(header);
    if (!is(*source.begin(source.statements()[header]), "for") || is_needed(spot, header, after, needed)) return false;
    first = header;
    end = after;
    return true;
  };
  if (source.is_header(first) && !take_loop(first)) return {};
  for (size_t header = source.header_of(first); header < source.statements().size();
       header = source.header_of(header)) {
    if (!take_loop(header)) break;
  }
  const Statement& begin = source.statements()[first];
  const uint32_t last = source.statements()[end - 1].last;
  if (end < source.statements().size() && source.statements()[end].indent == begin.indent &&
      is(*source.begin(source.statements()[end]), "else")) {
    return {};
  }
  for (size_t i = first; i < end; ++i) {
    const Token* const word = source.begin(source.statements()[i]);
    if (is(*word, "yield") || is(*word, "await") || is(*word, "def") || is(*word, "class")) return {};
  }
  if (takes_gradients(source.begin(begin), source.end(source.statements()[end - 1]))) return {};
  if (source.has_long_string(begin.first, last)) return {};
  const std::string unit = begin.indent.starts_with('\t') ? "\t" : "    ", line_break(source.line_break());
  Edit edit{begin.first, last - begin.first + 1, {std::string(begin.indent) + "with torch.no_grad():" + line_break}};
  for (uint32_t line = begin.first; line <= last; ++line) {
    const std::string_view text = source.line(line);
    const bool is_blank = text.find_first_not_of(" \t\r\n") == std::string_view::npos;
    edit.added.push_back((is_blank ? "" : unit) + std::string(text));
  }
  return edits(spot, {std::move(edit)});
}

FrameId PatchMaker::free_call(StackId stack, const IsFree& is_free) const {
  const std::vector<uint8_t> needed = needed_frames(is_free);
  FrameId outermost;
  bool calls_shared = false;
  for (const FrameId frame : context_.text.stack(stack)) {
    if (!is_own_frame(context_.text, frame)) continue;
    if (needed[frame.value] != 0) {
      calls_shared = true;
    } else if (calls_shared) {
      return frame;
    } else {
      outermost = frame;
    }
  }
  return outermost;
}

FileEdits PatchMaker::no_grad(StackId stack, const IsFree& is_free) const {
  if (context_.sources == nullptr) return {};
  const std::vector<uint8_t> needed = needed_frames(is_free);
  const auto frames = context_.text.stack(stack);
  // The outermost function, else the outermost statement, of which all is free.
  for (const bool functions : {true, false}) {
    for (auto frame = frames.rbegin(); frame != frames.rend(); ++frame) {
      if (functions && (context_.text.string(context_.text.frame_function[*frame]).starts_with('<') ||
                        is_function_needed(*frame, needed))) {
        continue;
      }
      const auto at = spot(*frame);
      if (!at || !imports_torch(at->source)) continue;
      if (functions) return decorated(*at);
      if (!is_needed(*at, at->statement, at->statement + 1, needed)) return wrapped(*at, needed);
    }
  }
  return {};
}

FileEdits PatchMaker::detach_argument(StackId stack, const IsFree& is_free) const {
  if (context_.sources == nullptr) return {};
  const Process& p = context_.process;
  const Text& text = context_.text;
  const std::vector<uint8_t> needed = needed_frames(is_free);
  const auto frames = text.stack(stack);
  // The innermost statement that has both.
  for (const FrameId frame : frames) {
    const auto at = spot(frame);
    if (!at || !is_needed(*at, at->statement, at->statement + 1, needed)) continue;
    const Tokens tokens(at->source.begin(at->here()), at->source.end(at->here()));
    // outer(inner(...)...): once, and no other calls.
    size_t inner_end = 0, calls = 0;
    for (size_t i = 0; i + 1 < tokens.size(); ++i) {
      if (tokens[i].kind == Token::Kind::name && is(tokens[i + 1], "(")) ++calls;
    }
    for (size_t i = 0; i < tokens.size(); ++i) {
      const size_t outer = i > 0 && is(tokens[i - 1], ".") ? 0 : dotted(tokens, i);
      if (outer == 0 || i + outer >= tokens.size() || !is(tokens[i + outer], "(")) continue;
      const size_t argument = i + outer + 1, inner = dotted(tokens, argument);
      if (inner == 0 || argument + inner >= tokens.size() || !is(tokens[argument + inner], "(")) continue;
      const size_t close = closing(tokens, argument + inner);
      if (close + 1 < tokens.size() && (is(tokens[close + 1], ")") || is(tokens[close + 1], ",")) && inner_end == 0) {
        inner_end = close;
      }
    }
    if (inner_end == 0 || calls != 2) return {};
    // Each time one call of a module that is free, then one that is not.
    std::vector<std::pair<uint32_t, bool>> outermost;  // call, is free
    for (const NodeId node : p.nodes.ids()) {
      const auto of = text.stack(stack_of(p, text, p.nodes.op[node]));
      if (std::ranges::find(of, frame) == of.end() || (p.nodes.flags[node] & trace::kNodeIsAccumulateGrad) != 0)
        continue;
      ModuleCallId call = p.operators.module_call[p.nodes.op[node]];
      while (call && p.module_calls.parent[call]) call = p.module_calls.parent[call];
      if (!call) return {};
      const bool free = is_free(node);
      if (!outermost.empty() && outermost.back().first == call.value) {
        if (outermost.back().second != free) return {};
      } else {
        outermost.emplace_back(call.value, free);
      }
    }
    for (size_t i = 0; i < outermost.size(); ++i) {
      if (outermost[i].second != (i % 2 == 0)) return {};
    }
    if (outermost.size() < 2 || outermost.size() % 2 != 0) return {};
    return edits(*at, {put_behind(at->source, tokens[inner_end], ".detach()")});
  }
  return {};
}

// ---- what is made anew

FileEdits PatchMaker::join_once(StackId stack) const {
  const auto at = spot(stack);
  if (!at) return {};
  const PythonSource& source = at->source;
  const auto& all = source.statements();
  const Tokens tokens(source.begin(at->here()), source.end(at->here()));
  // name = torch.cat([name, part], ...)
  if (tokens.size() < 11 || tokens[0].kind != Token::Kind::name || !is(tokens[1], "=") || !is(tokens[2], "torch") ||
      !is(tokens[3], ".") || !is(tokens[4], "cat") || !is(tokens[5], "(") || closing(tokens, 5) + 1 != tokens.size() ||
      !(is(tokens[6], "[") || is(tokens[6], "(")) || tokens[7].text != tokens[0].text || !is(tokens[8], ",")) {
    return {};
  }
  const std::string name(tokens[0].text), parts = name + "_parts";
  const size_t list_end = closing(tokens, 6);
  const Tokens part = tokens.subspan(9, list_end - 9),
               rest = tokens.subspan(list_end + 1, tokens.size() - list_end - 2);
  if (part.empty() || find_outside(part, ",") != part.size() || mentions(part, name) || mentions(rest, name)) return {};
  if (std::ranges::any_of(source.tokens(), [&](const Token& token) { return token.text == parts; })) return {};
  const size_t loop = source.header_of(at->statement);
  if (loop == all.size() || !is(*source.begin(all[loop]), "for")) return {};
  const size_t end = source.block_end(loop);
  if (end < all.size() && all[end].indent == all[loop].indent && is(*source.begin(all[end]), "else")) return {};
  // Nothing else in the loop may look at it, and nothing may leave the function before it is joined.
  for (size_t i = loop; i < end; ++i) {
    if (i == at->statement) continue;
    const Tokens others(source.begin(all[i]), source.end(all[i]));
    if (mentions(others, name) || is(others[0], "return") || is(others[0], "yield") || is(others[0], "def")) return {};
  }
  const std::string line_break(source.line_break());
  return edits(*at,
               {{all[loop].first, 0, {std::string(all[loop].indent) + parts + " = [" + name + "]" + line_break}},
                {at->here().first,
                 at->here().last - at->here().first + 1,
                 {std::string(at->here().indent) + parts + ".append(" + text_of(part) + ")" + line_break}},
                put_after(source, all[end - 1].last,
                          {std::string(all[loop].indent) + name + " = torch.cat(" + parts + text_of(rest) + ")"})});
}

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

}  // namespace tapelens::check
