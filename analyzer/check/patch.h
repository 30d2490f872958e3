// Changes of a file as a unified diff that `git apply` takes.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace tapelens::check {

// Lines [first, first + removed) go, `added` come in their place. Lines are counted from 0 and have their line breaks.
struct Edit {
  uint32_t first = 0, removed = 0;
  std::vector<std::string> added;
};

// `path` is the file's below the root of the repository; `lines` are those of it that are known, among them all that go
// and, for the context, those around. Edits may come in any order, and do not overlap.
std::string unified_diff(std::string_view path, const std::map<uint32_t, std::string>& lines, std::vector<Edit> edits);

}  // namespace tapelens::check
