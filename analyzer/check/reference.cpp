#include "analyzer/check/reference.h"

#include <algorithm>
#include <vector>

#include "analyzer/check/patch_maker.h"
#include "analyzer/check/patch_tokens.h"

namespace tapelens::check {

namespace {

using Kind = Reference::Kind;

Tokens tokens_of(const RecordedStatement& spot, size_t statement) {
  const Statement& s = spot.source.statements()[statement];
  return {spot.source.begin(s), spot.source.end(s)};
}

std::string_view last_part(std::string_view path) { return path.substr(path.find_last_of(".:") + 1); }

// The name of the call at the end of an expression: "c" for a.b().c(). Empty: the expression does not end in a call.
std::string_view last_called(Tokens value) {
  for (size_t i = 1; i < value.size(); ++i) {
    const bool is_last = is(value[i], "(") && closing(value, i) + 1 == value.size();
    if (is_last && value[i - 1].kind == Token::Kind::name) return value[i - 1].text;
  }
  return "";
}

bool has_call(Tokens tokens) {
  for (size_t i = 0; i + 1 < tokens.size(); ++i) {
    if (tokens[i].kind == Token::Kind::name && is(tokens[i + 1], "(")) return true;
  }
  return false;
}

// The call through which a statement got the tensor: the function, empty for the operator itself; the operator; and its
// module.
struct ProducingCall {
  std::string_view function, op, module;
};

// Whether an expression's value is the tensor: its last call is that call, or it has no other call.
bool is_value(Tokens value, const ProducingCall& producer) {
  const std::string_view name = last_called(value);
  if (name.empty()) return false;
  const size_t callee = dotted(value, 0);
  if (callee > 0 && callee < value.size() && !has_call(value.subspan(callee))) return true;
  if (producer.function.empty()) return last_part(producer.op).find(name) != std::string_view::npos;
  return producer.function.ends_with("call_impl") ? name == last_part(producer.module)
                                                  : name == last_part(producer.function);
}

// list.append(value): returns the list, and sets `value`.
Tokens collector(Tokens tokens, Tokens& value) {
  const size_t name = dotted(tokens, 0);
  if (name < 3 || name == tokens.size() || !is(tokens[name], "(") || closing(tokens, name) + 1 != tokens.size()) {
    return {};
  }
  if (!is(tokens[name - 1], "append") && !is(tokens[name - 1], "add") && !is(tokens[name - 1], "appendleft")) return {};
  value = tokens.subspan(name + 1, tokens.size() - name - 2);
  return tokens.first(name - 2);
}

// The tensor itself, or a view of it: hidden, hidden.detach(), hidden[0].
bool is_view(Tokens value, std::string_view name) {
  if (value.empty() || !is(value[0], name)) return false;
  for (size_t i = 1; i < value.size();) {
    if (is(value[i], "[")) {
      i = closing(value, i) + 1;
    } else if (i + 2 < value.size() && is(value[i], ".") && is(value[i + 2], "(") &&
               (is(value[i + 1], "detach") || is(value[i + 1], "view") || is(value[i + 1], "squeeze"))) {
      i = closing(value, i + 2) + 1;
    } else {
      return false;
    }
  }
  return true;
}

// The parts of `a, b`, `(a, b)`, `[a, b]` and the values of `{"a": a}`, one level deep.
std::vector<Tokens> parts(Tokens value) {
  if (value.size() > 2 && depth_change(value.front()) == 1 && closing(value, 0) + 1 == value.size()) {
    value = value.subspan(1, value.size() - 2);
  }
  std::vector<Tokens> found;
  while (!value.empty()) {
    const size_t comma = find_outside(value, ",");
    Tokens part = value.first(comma);
    if (const size_t colon = find_outside(part, ":"); colon < part.size()) part = part.subspan(colon + 1);
    if (!part.empty()) found.push_back(part);
    value = comma < value.size() ? value.subspan(comma + 1) : Tokens{};
  }
  return found;
}

// Whether a statement is a call that gets the tensor and may keep it.
template <class IsTensor>
bool is_passed(Tokens tokens, IsTensor is_tensor) {
  const size_t name = dotted(tokens, 0);
  if (name == 0 || name == tokens.size() || !is(tokens[name], "(") || closing(tokens, name) + 1 != tokens.size()) {
    return false;
  }
  const std::string_view called = tokens[name - 1].text;
  if (called == "print" || called.ends_with("backward")) return false;
  return std::ranges::any_of(parts(tokens.subspan(name)), is_tensor);
}

// The later use of a variable in the same function.
struct LaterUse {
  std::optional<Reference> kept;
  EditLine passed;
  size_t returned = 0;  // the statement; 0: not returned
  size_t part = 0;      // index in the returned tuple
};

LaterUse later_use_of(const RecordedStatement& spot, const std::vector<std::string_view>& names) {
  const auto& all = spot.source.statements();
  size_t end = all.size();
  for (size_t header = spot.source.header_of(spot.statement); header < all.size();
       header = spot.source.header_of(header)) {
    if (!is(*spot.source.begin(all[header]), "def")) continue;
    end = spot.source.block_end(header);
    break;
  }
  const auto is_any = [&](Tokens value) {
    return std::ranges::any_of(names, [&](std::string_view name) { return is_view(value, name); });
  };
  LaterUse use;
  int times_passed = 0;
  for (size_t i = spot.statement + 1; i < end && !use.kept; ++i) {
    const Tokens tokens = tokens_of(spot, i);
    if (is(tokens.front(), "def") || is(tokens.front(), "class")) {  // a separate scope of names
      if (spot.source.is_header(i)) i = spot.source.block_end(i) - 1;
      continue;
    }
    const EditLine line{spot.frame, tokens.front().line + 1};
    Tokens value;
    if (const Tokens list = collector(tokens, value); !list.empty()) {
      for (const Tokens part : parts(value)) {
        if (is_any(part)) use.kept = {Kind::collected, line, text_of(list), {}};
      }
      continue;
    }
    if (is(tokens.front(), "return")) {
      const std::vector<Tokens> given = parts(tokens.subspan(1));
      const auto part = std::ranges::find_if(given, is_any);
      if (part != given.end() && use.returned == 0) {
        use.returned = i;
        use.part = static_cast<size_t>(part - given.begin());
      }
      continue;
    }
    const size_t equals = find_outside(tokens, "=");
    if (equals == tokens.size() && is_passed(tokens, is_any)) {
      // With several calls, the one that keeps it is unknown.
      use.passed = times_passed++ == 0 ? line : EditLine{};
    }
    if (equals == tokens.size() || equals == 0) continue;
    const Tokens target = tokens.first(equals);
    if (is_any(tokens.subspan(equals + 1)) && (target.size() > 1 && find_outside(target, ",") == target.size())) {
      use.kept = {Kind::attribute, line, text_of(target), {}};
    } else if (target.size() == 1 && is_any(target)) {
      break;  // from here on the name has another value
    }
  }
  return use;
}

}  // namespace

std::optional<Reference> reference_of(const Context& context, const Place& made) {
  const Text& text = context.text;
  const auto frames = text.stack(made.stack);
  ProducingCall producer{"", made.op ? text.string(context.process.operators.name[made.op]) : "",
                         made.module ? text.string(text.module_path[made.module]) : ""};
  bool is_returned = false;  // by the frame before
  EditLine returned;
  size_t part = 0;  // index in the returned tuple
  for (size_t i = 0; i < frames.size(); ++i) {
    const FrameId frame = frames[i];
    producer.function = i > 0 ? text.string(text.frame_function[frames[i - 1]]) : "";
    if (is_library_frame(text.string(text.frame_file[frame]), text.string(text.frame_function[frame]))) continue;
    if (!is_own_frame(text, frame)) {
      if (is_returned) return Reference{Kind::returned, returned, "", {}};
      continue;
    }
    const auto at = recorded_statement_at(context, frame);
    if (!at) return std::nullopt;
    const Tokens tokens = tokens_of(*at, at->statement);
    const EditLine here{frame, tokens.front().line + 1};
    Tokens value;
    if (const Tokens list = collector(tokens, value); !list.empty()) {
      return is_value(value, producer) ? std::optional(Reference{Kind::collected, here, text_of(list), {}})
                                       : std::nullopt;
    }
    if (is(tokens.front(), "return")) {
      const auto all = parts(tokens.subspan(1));
      const auto given = std::ranges::find_if(all, [&](Tokens one) { return is_value(one, producer); });
      if (given == all.end()) return std::nullopt;
      // return f(x): the same part of the result of f.
      if (all.size() > 1) part = static_cast<size_t>(given - all.begin());
      is_returned = true;
      returned = here;
      continue;
    }
    const size_t equals = find_outside(tokens, "=");
    if (equals == tokens.size() || equals == 0 || find_outside(tokens, "=", equals + 1) != tokens.size()) {
      return std::nullopt;
    }
    const Tokens target = tokens.first(equals), given = tokens.subspan(equals + 1);
    if (!is_value(given, producer)) return std::nullopt;
    std::vector<std::string_view> names;
    const std::vector<Tokens> targets = parts(target);
    for (size_t t = 0; t < targets.size(); ++t) {
      const bool is_other = is_returned && targets.size() > 1 && t != part;
      if (targets[t].size() == 1 && !is_other) names.push_back(targets[t].front().text);
    }
    if (names.empty()) return Reference{Kind::attribute, here, text_of(target), {}};
    const LaterUse use = later_use_of(*at, names);
    if (use.kept) return use.kept;
    if (use.returned == 0) {
      return Reference{Kind::variable, here, names.size() == 1 ? std::string(names.front()) : "", use.passed};
    }
    is_returned = true;
    part = use.part;
    returned = {frame, at->source.statements()[use.returned].first + 1};
  }
  if (is_returned) return Reference{Kind::returned, returned, "", {}};
  return std::nullopt;
}

}  // namespace tapelens::check
