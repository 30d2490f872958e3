#include <cstdlib>
#include <filesystem>
#include <utility>

#include "testing/synthetic.h"
#include "trace/seal.h"

namespace tapelens::testing {

trace::Result<SyntheticRecording> SyntheticRecording::make(const SyntheticOptions& options) {
  SyntheticRecording made;
  std::string folder = (std::filesystem::temp_directory_path() / "tapelens-bench-XXXXXX").string();
  if (mkdtemp(folder.data()) == nullptr) return trace::Error{folder + ": a temporary folder cannot be made"};
  made.folder_ = folder;
  const auto written = write_synthetic_spools(folder, options);
  if (!written) return written.error();
  made.written_ = *written;
  trace::SealOptions sealing;
  sealing.directory = folder;
  sealing.output = made.path();
  sealing.command = "python train.py";
  if (const auto sealed = trace::seal(sealing); !sealed) return sealed.error();
  std::error_code ignored;
  for (uint32_t rank = 0; rank < options.processes; ++rank)
    std::filesystem::remove(folder + "/" + std::to_string(rank) + ".spool", ignored);
  return made;
}

SyntheticRecording::SyntheticRecording(SyntheticRecording&& other) noexcept
    : folder_(std::exchange(other.folder_, {})), written_(other.written_) {}

SyntheticRecording::~SyntheticRecording() {
  std::error_code ignored;
  if (!folder_.empty()) std::filesystem::remove_all(folder_, ignored);
}

}  // namespace tapelens::testing
