#include "profiler/rewrite/group_memory.h"

#include <algorithm>
#include <fstream>

namespace tapelens::rewrite {

uint64_t within_group(uint64_t bytes) {
  std::ifstream group("/sys/fs/cgroup/memory.max");  // "max", or bytes
  uint64_t limit = 0;
  return group >> limit ? std::min(bytes, limit) : bytes;
}

}  // namespace tapelens::rewrite
