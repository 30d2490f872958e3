// tapelens-synthetic FOLDER [EVENTS]: writes a synthetic spool into a folder, for `tapelens seal`.
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "testing/synthetic.h"

int main(int argc, char** argv) {
  if (argc < 2 || argc > 3) {
    std::fprintf(stderr, "usage: tapelens-synthetic FOLDER [EVENTS]\n");
    return 2;
  }
  tapelens::testing::SyntheticOptions options;
  if (argc == 3) options.events = std::strtoull(argv[2], nullptr, 10);
  std::error_code ignored;
  std::filesystem::create_directories(argv[1], ignored);
  const std::string path = std::string(argv[1]) + "/synthetic.spool";
  const auto written = tapelens::testing::write_synthetic_spool(path, options);
  if (!written) {
    std::fprintf(stderr, "tapelens-synthetic: %s\n", written.error().message.c_str());
    return 1;
  }
  std::printf("%s: %llu events in %llu steps\n", path.c_str(), static_cast<unsigned long long>(written->events),
              static_cast<unsigned long long>(written->steps));
  return 0;
}
