#include <stdlib.h>

#include <algorithm>
#include <fstream>
#include <utility>

#include "cli/patches.h"
#include "trace/regular_file.h"

namespace tapelens::cli {
namespace {

namespace fs = std::filesystem;
using trace::Error;
using trace::ErrorKind;
using trace::Result;
using trace::Status;

constexpr uint64_t kMostBytes = 64 << 20;  // size limit of a patch, and of a file that it changes

Error usage(const std::string& message) { return {message, ErrorKind::usage}; }

}  // namespace

Result<std::unique_ptr<PatchedCopy>> PatchedCopy::make(const std::string& patch, const fs::path& root,
                                                       const fs::path& folder,
                                                       const std::vector<std::string>& command) {
  const auto diff = trace::read_regular_file(patch, kMostBytes);
  if (!diff) return Error{patch + ": " + diff.error().message};
  const auto edits = check::read_unified_diff(*diff);
  if (!edits) return usage(patch + ": " + edits.error().message);
  std::error_code error;
  const fs::path real_root = fs::canonical(root, error), real_folder = fs::canonical(folder, error);
  if (error) return Error{root.string() + ": " + error.message()};
  std::unique_ptr<PatchedCopy> copy(new PatchedCopy(real_root, real_folder));
  if (!copy->temporary_) return Error{copy->temporary_.reason()};
  copy->copy_ = fs::canonical(copy->temporary_.path(), error);
  copy->add_folders_of(copy->folder_ / "any");
  for (const check::FileEdit& file : *edits) {
    if (const auto done = copy->take(file); !done) return usage(patch + ": " + done.error().message);
  }
  copy->take_command(command);
  if (const auto done = copy->write(); !done) return done.error();
  return copy;
}

fs::path PatchedCopy::below_root(const fs::path& path) const {
  std::error_code error;
  const fs::path real = fs::weakly_canonical(root_ / folder_ / path, error);
  const fs::path relative = error ? fs::path() : real.lexically_relative(root_);
  return relative.empty() || *relative.begin() == ".." ? fs::path() : relative;
}

void PatchedCopy::add_folders_of(const fs::path& file) {
  fs::path folder;
  folders_.insert(folder);
  for (const fs::path& part : file.parent_path()) {
    if (part != ".") folders_.insert(folder /= part);
  }
}

Status PatchedCopy::take(const check::FileEdit& file) {
  const fs::path original = root_ / file.path;
  std::error_code error;
  const fs::file_status status = fs::symlink_status(original, error);
  std::string content;
  if (fs::exists(status)) {
    if (!fs::is_regular_file(status) || below_root(original) != fs::path(file.path)) {
      return Error{file.path + " is a link, or no file"};
    }
    auto read = trace::read_regular_file(original.string(), kMostBytes);
    if (!read) return Error{file.path + ": " + read.error().message};
    content = std::move(*read);
  } else if (!file.lines.empty()) {
    return Error{file.path + ": this file is not in " + root_.string()};
  }
  auto text = check::applied(file, content);
  if (!text) return Error{"the patch does not fit: " + text.error().message};
  add_folders_of(file.path);
  texts_.push_back(std::move(*text));
  files_.push_back({file.path, original.string(), (copy_ / file.path).string()});
  return trace::Done{};
}

// Python follows links to the script and searches its folder for modules, so the script must be a copy.
void PatchedCopy::take_command(const std::vector<std::string>& command) {
  for (const std::string& word : command) {
    std::error_code error;
    const fs::path script = word.ends_with(".py") ? below_root(word) : fs::path();
    if (script.empty() || !fs::is_regular_file(root_ / script, error)) {
      command_.push_back(word);
      continue;
    }
    add_folders_of(script);
    command_.push_back(fs::path(word).is_absolute() ? (copy_ / script).string() : word);
  }
}

Status PatchedCopy::write() {
  std::error_code error;
  for (const fs::path& folder : folders_) {
    fs::create_directories(copy_ / folder, error);
    if (error) return Error{(copy_ / folder).string() + ": " + error.message()};
    for (const auto& entry : fs::directory_iterator(root_ / folder, error)) {
      const fs::path name = folder / entry.path().filename();
      const auto is_patched = [&](const verify::PatchedFile& file) { return fs::path(file.name) == name; };
      if (folders_.contains(name) || std::ranges::any_of(files_, is_patched) || name.filename() == "__pycache__")
        continue;
      std::error_code failed;
      if (entry.is_regular_file(failed) && name.extension() == ".py") {
        fs::copy_file(entry.path(), copy_ / name, failed);
      } else {
        fs::create_symlink(entry.path(), copy_ / name, failed);
      }
      if (failed) return Error{(copy_ / name).string() + ": " + failed.message()};
    }
  }
  for (size_t i = 0; i < files_.size(); ++i) {
    std::ofstream out(files_[i].copy, std::ios::binary);
    out << texts_[i];
    out.close();
    if (!out) return Error{files_[i].copy + ": cannot be written"};
    if (const fs::file_status status = fs::status(files_[i].original, error); !error) {
      fs::permissions(files_[i].copy, status.permissions() | fs::perms::owner_write, error);
    }
  }
  return trace::Done{};
}

std::string PatchedCopy::in_copy(const std::string& path) const {
  const fs::path name = fs::path(path).is_absolute() ? below_root(path) : fs::path();
  if (name.empty()) return path;
  const fs::path folder = name == "." ? fs::path() : name;
  return folders_.contains(folder) ? (copy_ / folder).string() : path;
}

Environment PatchedCopy::environment() const {
  Environment environment{{"PWD", folder()}};
  const char* given = getenv("PYTHONPATH");
  if (given == nullptr || *given == '\0') return environment;
  std::string mapped, rest = given;
  for (size_t begin = 0; begin <= rest.size();) {
    const size_t end = std::min(rest.find(':', begin), rest.size());
    mapped += (begin > 0 ? ":" : "") + in_copy(rest.substr(begin, end - begin));
    begin = end + 1;
  }
  environment.emplace_back("PYTHONPATH", mapped);
  return environment;
}

}  // namespace tapelens::cli
