#include "analyzer/check/sources.h"

namespace tapelens::check {

namespace {

// Not what somebody writes and has in a repository, even if a virtual environment lies in its folder.
bool is_library(std::string_view file) {
  for (const std::string_view part : {"/site-packages/", "/dist-packages/", "/lib/python3"}) {
    if (file.find(part) != std::string_view::npos) return true;
  }
  return file.starts_with("<");
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

std::string in_repository(std::string_view file, const SourceTree& tree) {
  if (file.empty() || is_library(file)) return "";
  const std::filesystem::path path(file);
  const std::filesystem::path whole = (path.is_absolute() ? path : tree.folder / path).lexically_normal();
  const std::filesystem::path relative = whole.lexically_relative(tree.root);
  if (relative.empty() || *relative.begin() == "..") return "";
  return relative.generic_string();
}

}  // namespace tapelens::check
