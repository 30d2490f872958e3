#include "analyzer/advise/fingerprint.h"

#include <algorithm>

#include "analyzer/model/words.h"

namespace tapelens::advise {

using namespace check;

namespace {

constexpr uint64_t kOffset = 14695981039346656037ULL, kPrime = 1099511628211ULL;

uint64_t mixed(uint64_t hash, uint64_t value) { return (hash ^ value) * kPrime; }

// Ends each part with a byte that occurs in no part.
uint64_t mixed(uint64_t hash, std::string_view text) {
  for (const char c : text) hash = mixed(hash, static_cast<unsigned char>(c));
  return mixed(hash, 0xff);
}

}  // namespace

std::string path_pattern(std::string_view path) {
  std::string out;
  while (!path.empty()) {
    const size_t dot = std::min(path.find('.'), path.size());
    const std::string_view part = path.substr(0, dot);
    path.remove_prefix(std::min(dot + 1, path.size()));
    // Removes the digits at the end: "layer1", "0".
    const size_t name = part.find_last_not_of("0123456789") + 1;
    if (!out.empty()) out += '.';
    out += part.substr(0, name);
    if (name < part.size()) out += '*';
  }
  return out;
}

Places::Places(const Context& context)
    : context_(context), source_of_(context.text.stack_begin.size()), pattern_of_(context.text.module_path.rows() + 1) {
  for (auto* numbers : {&source_of_, &pattern_of_}) {
    for (std::atomic<uint32_t>& number : *numbers) number.store(UINT32_MAX, std::memory_order_relaxed);
  }
}

FrameId Places::source(StackId stack) {
  std::atomic<uint32_t>& known = source_of_[stack.value];
  uint32_t source = known.load(std::memory_order_relaxed);
  if (source == UINT32_MAX) {
    source = source_frame(context_.text, stack).value;
    known.store(source, std::memory_order_relaxed);
  }
  return FrameId{source};
}

uint32_t Places::pattern_number(ModuleId module) {
  std::atomic<uint32_t>& known = pattern_of_[module.value];
  uint32_t pattern = known.load(std::memory_order_relaxed);
  if (pattern != UINT32_MAX) return pattern;
  const std::string text = module ? path_pattern(context_.text.string(context_.text.module_path[module])) : "";
  const base::MutexLock guard(lock_);
  const auto [at, is_new] = numbers_.try_emplace(text, static_cast<uint32_t>(patterns_.size()));
  if (is_new) patterns_.push_back(text);
  pattern = at->second;
  known.store(pattern, std::memory_order_relaxed);
  return pattern;
}

std::string Places::pattern(const Key& key) const {
  const base::MutexLock guard(lock_);
  return patterns_[key.module];
}

Places::Key Places::key(const Place& place, uint32_t variant) {
  const StringId op = place.op ? context_.process.operators.name[place.op] : StringId{};
  const StringId node = place.node ? context_.process.nodes.type[place.node] : StringId{};
  return {op, node, place.field, pattern_number(place.module), source(place.stack), variant};
}

std::string Places::fingerprint(std::string_view check, const Key& key) const {
  const Text& text = context_.text;
  uint64_t hash = mixed(kOffset, check);
  for (const StringId id : {key.op, key.node, key.field}) hash = mixed(hash, id ? text.string(id) : "");
  hash = mixed(hash, pattern(key));
  if (key.source) {
    // The file's name alone: the same program in another folder is the same program.
    std::string_view file = text.string(text.frame_file[key.source]);
    file.remove_prefix(std::min(file.rfind('/') + 1, file.size()));
    hash = mixed(hash, file);
    hash = mixed(hash, text.string(text.frame_function[key.source]));
    hash = mixed(hash, text.frame_line[key.source]);
  }
  hash = mixed(hash, key.variant);
  return model::hex_text(hash);
}

}  // namespace tapelens::advise

size_t std::hash<tapelens::advise::Places::Key>::operator()(const tapelens::advise::Places::Key& key) const noexcept {
  uint64_t value = tapelens::advise::kOffset;
  for (const uint64_t part : {uint64_t{key.op.value}, uint64_t{key.node.value}, uint64_t{key.field.value},
                              uint64_t{key.module}, uint64_t{key.source.value}, uint64_t{key.variant}}) {
    value = tapelens::advise::mixed(value, part);
  }
  return value ^ value >> 32;
}
