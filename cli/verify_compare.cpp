// Two runs, checksum by checksum.
#include <bit>
#include <cstdio>
#include <map>
#include <tuple>

#include "cli/verify.h"

namespace tapelens::cli {
namespace {

using trace::ChecksumOf;

const char* kind_of(ChecksumOf of) {
  switch (of) {
    case ChecksumOf::loss:
      return "loss";
    case ChecksumOf::gradient:
      return "gradient";
    case ChecksumOf::parameter:
      return "parameter";
  }
  return "unknown";
}

std::string value_text(const Checksum& checksum) {
  char text[40];
  if (checksum.of == ChecksumOf::loss) {
    std::snprintf(text, sizeof text, "%.17g", std::bit_cast<double>(checksum.value));
  } else {
    std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(checksum.value));
  }
  return text;
}

// Several of one name in one step are told apart by their order; the order of different names does not count.
using Key = std::tuple<uint64_t, ChecksumOf, std::string, uint32_t>;  // step, of, name, which

class Numbered {
 public:
  Key next(const Checksum& checksum) {
    return {checksum.step, checksum.of, checksum.name, counts_[{checksum.step, checksum.of, checksum.name}]++};
  }

 private:
  std::map<std::tuple<uint64_t, ChecksumOf, std::string>, uint32_t> counts_;
};

void count(const Checksum& checksum, Verdict& verdict) {
  (checksum.of == ChecksumOf::loss       ? verdict.losses
   : checksum.of == ChecksumOf::gradient ? verdict.gradients
                                         : verdict.parameters)++;
  verdict.steps = std::max(verdict.steps, checksum.step + 1);
}

std::optional<Difference> compare(const VerifiedRun::Process& bare, const VerifiedRun::Process& other,
                                  Verdict& verdict) {
  std::map<Key, const Checksum*> others;
  Numbered numbered_others, numbered;
  for (const Checksum& checksum : other.checksums) others.emplace(numbered_others.next(checksum), &checksum);
  std::optional<Difference> first;
  const auto differ = [&](const Checksum* a, const Checksum* b) {
    const Checksum& one = a != nullptr ? *a : *b;
    if (first && first->step <= one.step) return;
    first = Difference{bare.rank,
                       one.step,
                       kind_of(one.of),
                       one.name,
                       a != nullptr ? value_text(*a) : "",
                       b != nullptr ? value_text(*b) : "",
                       "",
                       {}};
  };
  for (const Checksum& checksum : bare.checksums) {
    count(checksum, verdict);
    const auto at = others.find(numbered.next(checksum));
    if (at == others.end()) {
      differ(&checksum, nullptr);
    } else {
      if (at->second->value != checksum.value) differ(&checksum, at->second);
      others.erase(at);
    }
  }
  for (const Checksum& checksum : other.checksums) {  // in the order of time, not of the map
    const bool is_left = std::ranges::any_of(others, [&](const auto& left) { return left.second == &checksum; });
    if (is_left) {
      differ(nullptr, &checksum);
      break;
    }
  }
  return first;
}

}  // namespace

std::optional<Difference> compare(const VerifiedRun& bare, const VerifiedRun& other, Verdict& verdict) {
  if (bare.exit_code != other.exit_code) {
    Difference difference;
    difference.kind = "exit_code";
    difference.bare = std::to_string(bare.exit_code);
    difference.rewritten = std::to_string(other.exit_code);
    return difference;
  }
  std::optional<Difference> first;
  const VerifiedRun::Process none;
  for (size_t i = 0; i < std::max(bare.processes.size(), other.processes.size()); ++i) {
    const auto found = compare(i < bare.processes.size() ? bare.processes[i] : none,
                               i < other.processes.size() ? other.processes[i] : none, verdict);
    if (found && (!first || found->step < first->step)) first = found;
  }
  return first;
}

}  // namespace tapelens::cli
