// The identity of findings: equal for two occurrences of one finding, and for one finding of two runs. It consists of
// check, operator, node, field, module path and source line. Addresses, order and sizes are not part of it.
#pragma once

#include <atomic>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "analyzer/check/check.h"
#include "base/mutex.h"

namespace tapelens::advise {

using namespace model;

// A module path without the numbers of repeated layers: "ResNet.layer*.*.conv*" for "ResNet.layer1.0.conv2".
std::string path_pattern(std::string_view path);

// Numbers the places of one process. Equal numbers mean the same place. Safe from any thread.
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

  std::string pattern(const Key& key) const;
  FrameId source(StackId stack);

  // 16 hexadecimal digits.
  std::string fingerprint(std::string_view check, const Key& key) const;

 private:
  const check::Context& context_;
  uint32_t pattern_number(ModuleId module);

  // UINT32_MAX: not computed yet. Two threads may compute the same number.
  std::vector<std::atomic<uint32_t>> source_of_;   // by stack
  std::vector<std::atomic<uint32_t>> pattern_of_;  // by module
  mutable base::Mutex lock_;
  std::vector<std::string> patterns_ TAPELENS_GUARDED_BY(lock_);
  std::unordered_map<std::string, uint32_t> numbers_ TAPELENS_GUARDED_BY(lock_);
};

}  // namespace tapelens::advise

template <>
struct std::hash<tapelens::advise::Places::Key> {
  size_t operator()(const tapelens::advise::Places::Key& key) const noexcept;
};
