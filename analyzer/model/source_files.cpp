#include "analyzer/model/source_files.h"

#include <algorithm>

#include "analyzer/model/text.h"
#include "trace/checksum.h"
#include "trace/schema.h"

namespace tapelens::model {

SourceState source_state(const Text& text, std::string_view path, std::string_view content) {
  const auto file =
      std::ranges::find_if(text.sources, [&](const SourceFile& source) { return text.string(source.path) == path; });
  if (file == text.sources.end()) return SourceState::not_known;
  const bool is_same =
      file->bytes == content.size() && file->hash == trace::checksum_of(content.data(), content.size());
  return is_same ? SourceState::same : SourceState::changed;
}

std::vector<SourceFile> load_source_files(const trace::Recording& r, size_t strings) {
  std::vector<SourceFile> all;
  for (uint32_t process = 0; process < r.processes().size(); ++process) {
    const trace::ProcessIndex index{process};
    const auto path = r.column(trace::column::source_path, index);
    const auto bytes = r.column(trace::column::source_bytes, index), hash = r.column(trace::column::source_hash, index);
    for (size_t row = 1; row < path.size(); ++row) {
      if (path[row] != 0 && path[row] <= strings) all.push_back({StringId{path[row]}, bytes[row], hash[row]});
    }
  }
  std::ranges::stable_sort(all, {}, &SourceFile::path);
  std::vector<SourceFile> files;
  for (auto first = all.begin(); first != all.end();) {
    const auto behind =
        std::ranges::find_if(first, all.end(), [&](const SourceFile& f) { return f.path != first->path; });
    if (std::all_of(first, behind, [&](const SourceFile& f) { return f == *first; })) files.push_back(*first);
    first = behind;
  }
  return files;
}

}  // namespace tapelens::model
