// Values that the tests of sealed recordings compare: losses by kind, strings by id.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "trace/recording.h"

namespace tapelens::trace {

template <class T>
using Values = std::vector<T>;

// Loss rows of the first process as (kind, count).
inline std::map<uint8_t, uint64_t> losses_of(const Recording& r, ProcessIndex process = {}) {
  std::map<uint8_t, uint64_t> losses;
  const auto kinds = r.column(column<table::Losses>.kind, process);
  const auto counts = r.column(column<table::Losses>.count, process);
  for (size_t i = 1; i < kinds.size(); ++i) losses[kinds[i]] = counts[i];
  return losses;
}

inline uint64_t lost(const Recording& r, Loss kind) {
  const auto losses = losses_of(r);
  const auto at = losses.find(static_cast<uint8_t>(kind));
  return at == losses.end() ? 0 : at->second;
}

inline std::vector<std::string> strings_of(const Recording& r) {
  const auto bytes = r.column(column<table::StringBytes>.byte);
  std::vector<std::string> strings{""};
  size_t at = 1;
  const auto lengths = r.column(column<table::Strings>.bytes);
  for (size_t i = 1; i < lengths.size(); ++i) {
    strings.emplace_back(bytes.begin() + static_cast<ptrdiff_t>(at),
                         bytes.begin() + static_cast<ptrdiff_t>(at + lengths[i]));
    at += lengths[i];
  }
  return strings;
}

}  // namespace tapelens::trace
