// Readable texts in tests/golden. TAPELENS_UPDATE_GOLDEN=1 rewrites them.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

namespace tapelens::testing {

inline std::string file_text(const std::string& path) {
  std::ifstream in(path);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

inline void expect_golden(const std::string& name, const std::string& text) {
  const std::string path = std::string(TAPELENS_GOLDEN_DIR) + "/" + name;
  if (getenv("TAPELENS_UPDATE_GOLDEN") != nullptr) std::ofstream(path) << text;
  EXPECT_EQ(text, file_text(path)) << "if this is right: TAPELENS_UPDATE_GOLDEN=1 ctest -R 'Report|Advice'";
}

}  // namespace tapelens::testing
