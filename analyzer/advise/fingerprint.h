// The identity of findings: equal for two occurrences of one finding, and for one finding of two runs. It consists of
// check, operator, node, field, module path and source line. Addresses, order and sizes are not part of it.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "analyzer/check/check.h"

namespace tapelens::advise {

using namespace model;

// A module path without the numbers of repeated layers: "ResNet.layer*.*.conv*" for "ResNet.layer1.0.conv2".
std::string path_pattern(std::string_view path);

// Numbers the places of one process. Equal numbers mean the same place.
class Places {
 public:
  explicit Places(const check::Context& context);

  struct Key {
    StringId op, node, field;
    uint32_t module;  // number of its pattern
    FrameId source;
    uint32_t variant;
    friend bool operator==(const Key&, const Key&) = default;
  };
  Key key(const check::Place& place, uint32_t variant);

  std::string_view pattern(const Key& key) const { return patterns_[key.module]; }
  FrameId source(StackId stack);

  // 16 hexadecimal digits.
  std::string fingerprint(std::string_view check, const Key& key) const;

 private:
  const check::Context& context_;
  std::vector<uint32_t> source_of_;   // by stack; UINT32_MAX: not computed yet
  std::vector<uint32_t> pattern_of_;  // by module; UINT32_MAX: not computed yet
  std::vector<std::string> patterns_;
  std::unordered_map<std::string, uint32_t> numbers_;
};

}  // namespace tapelens::advise

template <>
struct std::hash<tapelens::advise::Places::Key> {
  size_t operator()(const tapelens::advise::Places::Key& key) const noexcept;
};
