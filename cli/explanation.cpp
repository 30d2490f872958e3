#include "cli/explanation.h"

#include <fcntl.h>
#include <unistd.h>

#include "cli/scoped_files.h"
#include "trace/regular_file.h"
#include "trace/variables.h"

namespace tapelens::cli {
namespace {

std::string path_in(const std::string& folder) { return folder + "/" TAPELENS_EXPLANATION; }

}  // namespace

void make_explanation(const std::string& folder) {
  const OpenFile file(path_in(folder).c_str(), O_RDWR | O_CREAT | O_TRUNC | O_NOFOLLOW);
  if (file.descriptor() >= 0) posix_fallocate(file.descriptor(), 0, TAPELENS_EXPLANATION_BYTES);
}

std::optional<Explanation> read_explanation(const std::string& folder) {
  const auto bytes = trace::read_regular_file(path_in(folder), TAPELENS_EXPLANATION_BYTES);
  if (!bytes || bytes->size() < 2 || (bytes->front() != '0' && bytes->front() != '1')) return std::nullopt;
  const std::string text(bytes->begin() + 1, bytes->end());
  return Explanation{text.substr(0, text.find('\0')), bytes->front() == '1'};
}

void write_explanation(const std::string& folder, const std::string& why) {
  const OpenFile file(path_in(folder).c_str(), O_RDWR | O_NOFOLLOW);
  const std::string text = "1" + why.substr(0, TAPELENS_EXPLANATION_BYTES - 2);
  // On failure, a process only repeats the reason.
  if (file.descriptor() >= 0 && pwrite(file.descriptor(), text.data(), text.size(), 0) < 0) return;
}

void remove_explanation(const std::string& folder) { unlink(path_in(folder).c_str()); }

}  // namespace tapelens::cli
