// See attempt.h.
#include "profiler/rewrite/attempt.h"

#include <c10/util/Exception.h>

#include <atomic>
#include <exception>

#include "profiler/observe/observe.h"

namespace tapelens::rewrite {

RewriteInfo info_of(const Rewrite& rewrite) noexcept {
  try {
    return rewrite.info();
  } catch (...) {
    return {"a rewrite without a name", Level::encoded, {}};
  }
}

std::string thrown_text() {
  try {
    throw;
  } catch (const c10::Error& error) {
    return error.what_without_backtrace();
  } catch (const std::exception& error) {
    return error.what();
  } catch (...) {
    return "an exception of an unknown type";
  }
}

void count_failure(const Attempted& what) noexcept {
  static std::atomic<bool> said{false};
  try {
    if (!said.exchange(true)) {
      observe::say(std::string(what.rewrite) + ": an error inside Tapelens: " + thrown_text() +
                   "; this rewrite is skipped, and the program continues (please report this)");
    }
    skipped(what.rewrite, what.level, what.site, "an error inside Tapelens", what.bytes);
  } catch (...) {  // no memory left to count it
  }
}

}  // namespace tapelens::rewrite
