#include "analyzer/check/sources.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "analyzer/model/source_files.h"
#include "analyzer/model/text.h"
#include "trace/regular_file.h"

namespace tapelens::check {

namespace {

constexpr uintmax_t kMostBytes = 8 << 20;  // more than any handwritten source file

// Excludes installed libraries, even if the repository contains a virtual environment.
bool is_library(std::string_view file) {
  for (const std::string_view part : {"/site-packages/", "/dist-packages/", "/lib/python3"}) {
    if (file.find(part) != std::string_view::npos) return true;
  }
  return file.starts_with("<");
}

bool is_repository(const SourceTree& tree) {
  std::error_code error;
  return std::filesystem::exists(tree.root / ".git", error);
}

// A relative name may belong to another tree, so the file must exist.
bool has_file(const SourceTree& tree, std::string_view file) {
  std::error_code error;
  return !in_repository(file, tree).empty() &&
         (std::filesystem::path(file).is_absolute() || std::filesystem::exists(tree.folder / file, error));
}

std::optional<std::string> python_file(std::string_view file, const SourceTree& tree) {
  const std::string path = in_repository(file, tree);
  if (!path.ends_with(".py")) return std::nullopt;
  const std::filesystem::path there = tree.root / path;
  // A link may lead outside the repository, where git applies no patch.
  std::error_code error;
  if (!std::filesystem::is_regular_file(std::filesystem::symlink_status(there, error))) return std::nullopt;
  auto content = trace::read_regular_file(there, kMostBytes);
  if (!content) return std::nullopt;
  return std::move(*content);
}

}  // namespace

SourceTree source_tree_at(const std::filesystem::path& folder) {
  std::error_code error;
  for (std::filesystem::path root = folder; !root.empty(); root = root.parent_path()) {
    if (std::filesystem::exists(root / ".git", error)) return {root, folder};
    if (root == root.root_path()) break;
  }
  return {folder, folder};
}

std::vector<SourceTree> source_trees(const std::filesystem::path& recording, const std::filesystem::path& current) {
  const SourceTree here = source_tree_at(current);
  const SourceTree there = source_tree_at((current / recording).lexically_normal().parent_path());
  if (is_repository(there)) {
    if (is_repository(here)) return {here, there};
    return {there, here};
  }
  if (is_repository(here)) return {here};
  return {here, there};
}

std::vector<SourceTree> source_trees(const std::filesystem::path& recording) {
  std::error_code error;
  return source_trees(recording, std::filesystem::current_path(error));
}

const SourceTree& source_tree_of(const model::Text& text, std::span<const SourceTree> trees) {
  std::vector<std::string_view> files;
  std::vector<uint8_t> is_known(text.string_begin.size());
  for (const uint32_t file : text.frame_file.raw) {
    if (std::exchange(is_known[file], 1) == 0) files.push_back(text.string(model::StringId{file}));
  }
  const auto found = std::ranges::find_if(trees, [&](const SourceTree& tree) {
    return std::ranges::any_of(files, [&](std::string_view file) { return has_file(tree, file); });
  });
  return found == trees.end() ? trees.front() : *found;
}

std::optional<std::string> recorded_source(const model::Text& text, std::string_view file, const SourceTree& tree) {
  auto content = python_file(file, tree);
  // Line numbers of another version of the file may differ.
  if (content && !is_as_recorded(text, file, *content)) content.reset();
  return content;
}

bool has_changed(const model::Text& text, std::string_view file, const SourceTree& tree) {
  if (!model::has_content(text, file)) return false;
  const auto content = python_file(file, tree);
  return content && !is_as_recorded(text, file, *content);
}

std::string in_repository(std::string_view file, const SourceTree& tree) {
  if (file.empty() || is_library(file)) return "";
  const std::filesystem::path path(file);
  const std::filesystem::path whole = (path.is_absolute() ? path : tree.folder / path).lexically_normal();
  const std::filesystem::path relative = whole.lexically_relative(tree.root);
  if (relative.empty() || *relative.begin() == "..") return "";
  return relative.generic_string();
}

}  // namespace tapelens::check
