#include "cli/memory.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <fstream>

namespace tapelens::cli {

void stay_within_memory() {
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // their own tables are larger than any machine
  const long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
  if (pages <= 0 || page <= 0) return;
  rlim_t most = static_cast<rlim_t>(pages) * static_cast<rlim_t>(page);
  std::ifstream file("/sys/fs/cgroup/memory.max");  // "max", or bytes
  if (uint64_t given = 0; file >> given) most = std::min<rlim_t>(most, given);
  rlimit limit{};
  // Memory of its own only: a mapped file counts against RLIMIT_AS, not against this.
  if (getrlimit(RLIMIT_DATA, &limit) != 0 || limit.rlim_cur <= most) return;
  limit.rlim_cur = std::min(most, limit.rlim_max);
  setrlimit(RLIMIT_DATA, &limit);
#endif
}

}  // namespace tapelens::cli
