// Closes a file with its owner.
#pragma once

#include <cstdio>
#include <memory>

namespace tapelens::verify {

struct CloseFile {
  void operator()(FILE* file) const { fclose(file); }
};
using File = std::unique_ptr<FILE, CloseFile>;

}  // namespace tapelens::verify
