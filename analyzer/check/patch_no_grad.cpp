// Patches with torch.no_grad() for code that needs no graph: on a function, or around a loop or a statement.
#include <algorithm>
#include <optional>
#include <span>
#include <utility>

#include "analyzer/check/patch_maker.h"
#include "analyzer/check/patch_tokens.h"
#include "analyzer/model/attribution.h"
#include "trace/record.h"

namespace tapelens::check {

namespace {

bool imports_torch(const PythonSource& source) {
  return std::ranges::any_of(source.statements(), [&](const Statement& s) {
    const Tokens tokens(source.begin(s), source.end(s));
    return s.indent.empty() && tokens.size() == 2 && is(tokens[0], "import") && is(tokens[1], "torch");
  });
}

// Whether code that torch.no_grad() would cover computes gradients itself, even in branches that the recorded run
// skipped.
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

bool is_module_call(const Text& text, FrameId frame) {
  return text.string(text.frame_function[frame]) == "Module._call_impl";
}

// The frames outside of all modules. None: the stack has no call of a module.
std::optional<std::span<const FrameId>> outside_modules(const Text& text, std::span<const FrameId> frames) {
  const auto outermost =
      std::ranges::find_if(frames.rbegin(), frames.rend(), [&](FrameId frame) { return is_module_call(text, frame); });
  if (outermost == frames.rend()) return std::nullopt;
  return frames.subspan(static_cast<size_t>(outermost.base() - frames.begin()));
}

// The inner call of outer(inner(...)...). The statement has it once, has no other calls, and evaluates once from left
// to right. Empty: the statement has another form.
Tokens argument_call(Tokens tokens) {
  size_t calls = 0;
  for (size_t i = 0; i < tokens.size(); ++i) {
    for (const char* word : {"for", "if", "while", "and", "or", "lambda", ":=", "await", "yield", "assert"}) {
      if (is(tokens[i], word)) return {};
    }
    if (i + 1 < tokens.size() && tokens[i].kind == Token::Kind::name && is(tokens[i + 1], "(")) ++calls;
  }
  if (calls != 2) return {};
  for (size_t i = 0; i < tokens.size(); ++i) {
    const size_t outer = i > 0 && is(tokens[i - 1], ".") ? 0 : dotted(tokens, i);
    if (outer == 0 || i + outer >= tokens.size() || !is(tokens[i + outer], "(")) continue;
    const size_t argument = i + outer + 1, inner = dotted(tokens, argument);
    if (inner == 0 || argument + inner >= tokens.size() || !is(tokens[argument + inner], "(")) continue;
    const size_t close = closing(tokens, argument + inner);
    if (close + 1 < tokens.size() && (is(tokens[close + 1], ")") || is(tokens[close + 1], ","))) {
      return tokens.subspan(argument, close + 1 - argument);
    }
  }
  return {};
}

}  // namespace

FreeCalls::FreeCalls(const Context& context, IsFree is_free)
    : context_(context),
      is_free_(std::move(is_free)),
      needed_(context.text.frame_file.raw.size()),
      needs_module_(needed_.size()) {
  const Process& p = context.process;
  const Text& text = context.text;
  std::vector<uint8_t> seen(text.stack_begin.size());
  for (const NodeId node : p.nodes.ids()) {
    if (is_free_(node)) continue;
    const StackId stack = stack_of(p, text, p.nodes.op[node]);
    if (std::exchange(seen[stack.value], 1) != 0) continue;
    const auto frames = text.stack(stack);
    for (const FrameId frame : frames) needed_[frame.value] = 1;
    if (const auto outside = outside_modules(text, frames)) {
      for (const FrameId frame : *outside) needs_module_[frame.value] = 1;
    }
  }
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

bool PatchMaker::is_needed(const RecordedStatement& spot, size_t first, size_t end,
                           const std::vector<uint8_t>& needed) const {
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

FileEdits PatchMaker::decorated(const RecordedStatement& spot) const {
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
    // The graph of a generator's values is made while other functions run.
    const Token* const end = source.end(source.statements()[source.block_end(header) - 1]);
    for (const Token* token = begin; token < end; ++token) {
      if (is(*token, "yield") || is(*token, "await")) return {};
    }
    if (takes_gradients(begin, end)) return {};
    return edits(spot, {{s.first, 0, {std::string(s.indent) + "@torch.no_grad()" + std::string(source.line_break())}}});
  }
  return {};
}

FileEdits PatchMaker::wrapped(const RecordedStatement& spot, const std::vector<uint8_t>& needed) const {
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

bool FreeCalls::is_in_module(StackId stack) const {
  return std::ranges::any_of(context_.text.stack(stack),
                             [&](FrameId frame) { return is_module_call(context_.text, frame); });
}

FrameId FreeCalls::call(StackId stack) const {
  const Text& text = context_.text;
  const auto frames = text.stack(stack);
  const auto outside = outside_modules(text, frames);
  const std::vector<uint8_t>& needed = outside ? needs_module_ : needed_;
  FrameId outermost;
  bool calls_shared = outside.has_value();
  for (const FrameId frame : outside.value_or(frames)) {
    if (!is_own_frame(text, frame)) continue;
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

FileEdits PatchMaker::no_grad(StackId stack, const FreeCalls& calls) const {
  if (context_.sources == nullptr) return {};
  const std::vector<uint8_t>& needed = calls.needed();
  const auto frames = context_.text.stack(stack);
  // The outermost function whose nodes are all free, else the outermost such statement.
  for (const bool functions : {true, false}) {
    for (auto frame = frames.rbegin(); frame != frames.rend(); ++frame) {
      if (functions && (context_.text.string(context_.text.frame_function[*frame]).starts_with('<') ||
                        is_function_needed(*frame, needed))) {
        continue;
      }
      const auto at = spot(*frame);
      if (!at || !imports_torch(at->source)) continue;
      if (!functions && is_needed(*at, at->statement, at->statement + 1, needed)) continue;
      return functions ? decorated(*at) : wrapped(*at, needed);
    }
  }
  return {};
}

bool PatchMaker::takes_turns(FrameId frame, const FreeCalls& calls) const {
  const Process& p = context_.process;
  const Text& text = context_.text;
  std::vector<std::pair<uint32_t, bool>> outermost;  // call, is free
  for (const NodeId node : p.nodes.ids()) {
    const auto of = text.stack(stack_of(p, text, p.nodes.op[node]));
    if (std::ranges::find(of, frame) == of.end() || (p.nodes.flags[node] & trace::kNodeIsAccumulateGrad) != 0) continue;
    const ModuleCallId call = outermost_call(p, p.nodes.op[node]);
    if (!call) return false;
    const bool free = calls.is_free(node);
    if (!outermost.empty() && outermost.back().first == call.value) {
      if (outermost.back().second != free) return false;
    } else {
      outermost.emplace_back(call.value, free);
    }
  }
  for (size_t i = 0; i < outermost.size(); ++i) {
    if (outermost[i].second != (i % 2 == 0)) return false;
  }
  return outermost.size() >= 2 && outermost.size() % 2 == 0;
}

FileEdits PatchMaker::no_grad_argument(StackId stack, const FreeCalls& calls) const {
  if (context_.sources == nullptr) return {};
  const std::vector<uint8_t>& needed = calls.needed();
  // The innermost statement with both calls.
  for (const FrameId frame : context_.text.stack(stack)) {
    const auto at = spot(frame);
    if (!at || !is_needed(*at, at->statement, at->statement + 1, needed)) continue;
    const PythonSource& source = at->source;
    const Statement& here = at->here();
    const Tokens tokens(source.begin(here), source.end(here));
    const Tokens call = argument_call(tokens);
    if (call.empty() || call.front().line != call.back().line || source.is_header(at->statement) ||
        !imports_torch(source) || takes_gradients(call.data(), call.data() + call.size()) ||
        !takes_turns(frame, calls)) {
      return {};
    }
    const std::string name = std::string(call[dotted(call, 0) - 1].text) + "_output";
    if (std::ranges::any_of(source.tokens(), [&](const Token& token) { return token.text == name; })) return {};
    const std::string indent(here.indent), line_break(source.line_break());
    const std::string unit = here.indent.starts_with('\t') ? "\t" : "    ";
    std::string line(source.line(call.front().line));
    line.replace(static_cast<size_t>(call.front().text.data() - source.line(call.front().line).data()),
                 text_of(call).size(), name);
    // Without `del`, the new variable would hold the value longer than the call did.
    std::vector<Edit> all{
        {here.first,
         0,
         {indent + "with torch.no_grad():" + line_break, indent + unit + name + " = " + text_of(call) + line_break}},
        {call.front().line, 1, {line}}};
    if (!is(tokens.front(), "return")) {
      if (!source.line(here.last).ends_with('\n')) return {};
      all.push_back({here.last + 1, 0, {indent + "del " + name + line_break}});
    }
    return edits(*at, std::move(all));
  }
  return {};
}

}  // namespace tapelens::check
