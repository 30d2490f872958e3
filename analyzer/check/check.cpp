#include "analyzer/check/check.h"

#include <algorithm>
#include <charconv>
#include <stdexcept>

#include "analyzer/model/attribution.h"
#include "analyzer/model/words.h"

namespace tapelens::check {

Place place_of(const Context& context, OperatorId op) {
  const OperatorId called = context.provenance.called(op);
  return {called, {}, {}, module_of(context.process, op), stack_of(context.process, context.text, op)};
}

Place place_of(const Context& context, AllocationId allocation) {
  Place place = place_of(context, context.process.allocations.op[allocation]);
  place.module = module_of(context.process, allocation);
  place.stack = stack_of(context.process, context.text, allocation);
  return place;
}

Place place_of(const Context& context, NodeId node) {
  Place place = place_of(context, context.process.nodes.op[node]);
  place.node = node;
  return place;
}

Place place_of(const Context& context, SaveId save) {
  Place place = place_of(context, context.process.saves.node[save]);
  place.field = context.process.saves.field[save];
  return place;
}

std::string line_of(const Context& context, const Place& place) {
  const FrameId frame = own_frame(context.text, place.stack);
  return frame ? peak::frame_text(context.text, frame) : std::string();
}

uint64_t Group::alive_at(Time time) const {
  return static_cast<uint64_t>(
      std::ranges::count_if(occurrences, [&](const Occurrence& one) { return one.when.contains(time); }));
}

const Occurrence& Group::biggest() const { return *std::ranges::max_element(occurrences, {}, &Occurrence::bytes); }

std::string_view Options::text(std::string_view name) const {
  for (const auto& [key, value] : values_) {
    if (key == name) return value;
  }
  throw std::runtime_error("unknown option '" + std::string(name) + "'");
}

int64_t Options::number(std::string_view name) const {
  const std::string_view value = text(name);
  int64_t number = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  if (error != std::errc() || end != value.data() + value.size()) {
    throw std::runtime_error("option '" + std::string(name) + "' is '" + std::string(value) + "', not a whole number");
  }
  return number;
}

Bytes Options::share(std::string_view name, Bytes of) const {
  return {of.value / 100 * std::clamp<int64_t>(number(name), 1, 100)};
}

Bytes Options::bytes(std::string_view name) const {
  const std::string_view value = text(name);
  if (const auto bytes = model::parse_bytes(value)) return Bytes{static_cast<int64_t>(*bytes)};
  throw std::runtime_error("option '" + std::string(name) + "' is '" + std::string(value) + "', not a size like 64KiB");
}

const char* severity_name(Severity severity) {
  switch (severity) {
    case Severity::error:
      return "error";
    case Severity::warning:
      return "warning";
    case Severity::info:
      break;
  }
  return "info";
}

const char* fix_name(FixKind kind) {
  switch (kind) {
    case FixKind::rewrite:
      return "rewrite";
    case FixKind::patch:
      return "patch";
    case FixKind::advice:
      break;
  }
  return "advice";
}

}  // namespace tapelens::check
