// The text of a node's attributes, as stored in the recording: "training=False", "dim=None,keepdim=True".
// saved_fields.py generates the calls, for the node types in the needs table of this PyTorch version.
#pragma once

#include <c10/core/SymInt.h>
#include <torch/csrc/autograd/saved_variable.h>

#include <array>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>

#include "profiler/observe/raw_data.h"

namespace tapelens::observe {

// The generator sorts the names. Values are written as in Python, because the table's values come from Python.
class AttributeText {
 public:
  template <class Value>
  void add(std::string_view name, const Value& value) {
    if (size_ > 0) put(",");
    put(name);
    put("=");
    write(value);
  }
  // A text that does not fit is left out: a part of a value would be another value.
  std::string_view text() const { return is_cut_ ? std::string_view() : std::string_view(text_.data(), size_); }

 private:
  void put(std::string_view text) {
    is_cut_ = is_cut_ || size_ + text.size() > text_.size();
    if (is_cut_) return;
    std::memcpy(text_.data() + size_, text.data(), text.size());
    size_ += text.size();
  }
  void write(bool value) { put(value ? "True" : "False"); }
  void write(int64_t value) {
    char digits[24];
    put({digits, static_cast<size_t>(std::to_chars(digits, digits + sizeof digits, value).ptr - digits)});
  }
  void write(const c10::SymInt& value) {
    if (const auto known = value.maybe_as_int()) return write(*known);
    put("?");
  }
  void write(const std::string& value) {
    put("'");
    put(value);
    put("'");
  }
  void write(const torch::autograd::SavedVariable& value) {
    const auto data = raw_data(value);
    put(!data || data->defined() ? "Tensor" : "None");
  }
  template <class Value>
  void write(const std::optional<Value>& value) {
    if (value) return write(*value);
    put("None");
  }

  std::array<char, 160> text_;
  size_t size_ = 0;
  bool is_cut_ = false;
};

}  // namespace tapelens::observe
