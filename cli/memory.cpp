#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <fstream>

#include "cli/options.h"

namespace tapelens::cli {

void stay_within_memory() {
// The sanitizers' own tables exceed any machine's memory.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  const long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
  if (pages <= 0 || page <= 0) return;
  rlim_t most = static_cast<rlim_t>(pages) * static_cast<rlim_t>(page);
  std::ifstream file("/sys/fs/cgroup/memory.max");  // "max", or bytes
  if (uint64_t given = 0; file >> given) most = std::min<rlim_t>(most, given);
  rlimit limit{};
  // RLIMIT_DATA limits private memory only; RLIMIT_AS would count mapped files too.
  if (getrlimit(RLIMIT_DATA, &limit) != 0 || limit.rlim_cur <= most) return;
  limit.rlim_cur = std::min(most, limit.rlim_max);
  setrlimit(RLIMIT_DATA, &limit);
#endif
}

}  // namespace tapelens::cli
