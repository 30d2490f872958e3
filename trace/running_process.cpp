#include "trace/running_process.h"

#include <signal.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <sstream>
#include <string>

namespace tapelens::trace {

bool is_alive(pid_t pid) {
  if (kill(pid, 0) != 0 && errno != EPERM) return false;
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string text;
  std::getline(file, text, '\0');
  std::istringstream fields(text.substr(std::min(text.size(), text.rfind(')') + 1)));  // a name may contain ')'
  std::string field, state;
  fields >> state;
  for (int i = 0; i < 17; ++i) fields >> field;  // proc(5): the number of threads, 0 if all have ended
  return state != "Z" || (field != "0" && field != "1");
}

}  // namespace tapelens::trace
