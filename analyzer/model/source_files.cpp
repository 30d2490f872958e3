#include "analyzer/model/source_files.h"

#include <algorithm>

#include "analyzer/model/tables.h"
#include "analyzer/model/text.h"
#include "trace/checksum.h"
#include "trace/schema.h"

namespace tapelens::model {

bool is_same(const SourceFile& recorded, std::string_view content) {
  return recorded.bytes == content.size() && recorded.hash == trace::checksum_of(content.data(), content.size());
}

bool is_as_recorded(const Text& text, std::string_view path, std::string_view content) {
  const auto file =
      std::ranges::find_if(text.sources, [&](const SourceFile& source) { return text.string(source.path) == path; });
  return file != text.sources.end() && is_same(*file, content);
}

bool has_content(const Text& text, std::string_view path) {
  return std::ranges::any_of(text.sources, [&](const SourceFile& source) { return text.string(source.path) == path; });
}

void load_source_files(const trace::Recording& recording, Text& text) {
  std::vector<SourceFile> all;
  for (uint32_t process = 0; process < recording.processes().size(); ++process) {
    Tables t = Tables::of_process(recording, trace::ProcessIndex{process});
    const auto path = t.column(trace::column<trace::table::Sources>.path);
    const auto bytes = t.column(trace::column<trace::table::Sources>.bytes),
               hash = t.column(trace::column<trace::table::Sources>.hash);
    t.below(trace::column<trace::table::Sources>.path, path, text.string_begin.size() - 2);
    for (size_t row = 1; row < path.size() && t.is_sound(Table::sources); ++row) {
      if (path[row] != 0) all.push_back({StringId{path[row]}, bytes[row], hash[row]});
    }
    if (t.is_sound(Table::sources)) continue;
    for (const LeftOut& table : t.left_out()) {
      if (table.table == Table::sources) text.left_out.push_back(table);
    }
  }
  std::ranges::stable_sort(all, {}, &SourceFile::path);
  for (auto first = all.begin(); first != all.end();) {
    const auto behind =
        std::ranges::find_if(first, all.end(), [&](const SourceFile& f) { return f.path != first->path; });
    if (std::all_of(first, behind, [&](const SourceFile& f) { return f == *first; })) text.sources.push_back(*first);
    first = behind;
  }
}

}  // namespace tapelens::model
