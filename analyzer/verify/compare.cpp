#include "analyzer/verify/compare.h"

#include <algorithm>
#include <bit>
#include <cstdio>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "analyzer/model/words.h"

namespace tapelens::verify {
namespace {

using trace::ChecksumOf;
using Process = ProgramRun::Process;

Difference::Kind kind_of(ChecksumOf of) {
  if (of == ChecksumOf::loss) return Difference::Kind::loss;
  if (of == ChecksumOf::returned_gradient) return Difference::Kind::returned_gradient;
  return of == ChecksumOf::gradient ? Difference::Kind::gradient : Difference::Kind::parameter;
}

std::string value_text(const RecordedChecksum& checksum) {
  if (checksum.of == ChecksumOf::returned_gradient && checksum.value == 0) return "undefined";
  if (checksum.of != ChecksumOf::loss) return model::hex_text(checksum.value);
  char text[40];
  std::snprintf(text, sizeof text, "%.17g", std::bit_cast<double>(checksum.value));
  return text;
}

// "weight" of "weight#2"; empty for "#3", which is only a number. "input 2" stays: its number is the argument's
// position.
std::string_view base_name(std::string_view name) {
  if (name.starts_with("input ")) return name;
  return name.substr(0, name.find_last_not_of("0123456789#") + 1);
}

// Whether values keep their order with several threads. Gradients and parameters do. Losses and returned gradients come
// from all calls of backward and torch.autograd.grad in any order; with --steps, which cuts the run, even their set
// varies.
bool has_place(ChecksumOf of) { return of != ChecksumOf::loss && of != ChecksumOf::returned_gradient; }

using Stream = std::vector<const RecordedChecksum*>;
using Streams = std::map<std::pair<ChecksumOf, std::string>, Stream>;

Streams streams_of(const Process& process) {
  Streams streams;
  for (const RecordedChecksum& checksum : process.checksums) streams[{checksum.of, checksum.name}].push_back(&checksum);
  return streams;
}

// The index of the first difference of two streams; their size if equal.
size_t first_difference(const Stream& a, const Stream& b) {
  const auto same = [](const RecordedChecksum* x, const RecordedChecksum* y) { return x->value == y->value; };
  return static_cast<size_t>(std::ranges::mismatch(a, b, same).in1 - a.begin());
}

bool is_same(const Stream& a, const Stream& b) { return a.size() == b.size() && first_difference(a, b) == a.size(); }

Stream sorted(Stream stream) {
  std::ranges::sort(stream, {}, [](const RecordedChecksum* checksum) { return checksum->value; });
  return stream;
}

// The streams of both runs that differ: the constructor pairs equal streams and removes them.
class Remaining {
 public:
  Remaining(const Process& bare, const Process& other, bool is_cut)
      : bare_(streams_of(bare)), other_(streams_of(other)) {
    // --steps counts the steps of one optimizer, so the progress of other threads by then is arbitrary.
    if (is_cut && (bare.has_threads || other.has_threads)) cut();
    const bool has_threads = bare.has_threads || other.has_threads;
    pair([has_threads](const auto& a, const auto& b) {
      if (a.first != b.first) return false;
      // Threads compute their losses in any order.
      const bool in_any_order = a.first.first == ChecksumOf::loss || (has_threads && !has_place(a.first.first));
      return is_same(a.second, b.second) || (in_any_order && is_same(sorted(a.second), sorted(b.second)));
    });
    pair([](const auto& a, const auto& b) {
      return a.first.first == b.first.first && base_name(a.first.second) == base_name(b.first.second) &&
             is_same(a.second, b.second);
    });
  }

  bool empty() const { return bare_.empty() && other_.empty(); }

  std::optional<Difference> first(int32_t rank) const {
    std::optional<Difference> found;
    const RecordedChecksum* earliest = nullptr;
    const auto take = [&](const RecordedChecksum* a, const RecordedChecksum* b) {
      const RecordedChecksum* one = a != nullptr ? a : b;
      if (one == nullptr || (earliest != nullptr && std::pair(earliest->step, earliest) <= std::pair(one->step, one)))
        return;
      earliest = one;
      found = Difference{kind_of(one->of),        rank, one->step, one->name, a ? value_text(*a) : "",
                         b ? value_text(*b) : "", "",   {}};
    };
    static const Stream none;
    for (const auto& [key, stream] : bare_) {
      const auto at = other_.find(key);
      const Stream& others = at != other_.end() ? at->second : none;
      const size_t place = first_difference(stream, others);
      take(place < stream.size() ? stream[place] : nullptr, place < others.size() ? others[place] : nullptr);
    }
    for (const auto& [key, stream] : other_) {
      if (!found && !bare_.contains(key)) take(nullptr, stream.front());
    }
    return found;
  }

 private:
  void cut() {
    const auto has_no_place = [](const auto& stream) { return !has_place(stream.first.first); };
    std::erase_if(bare_, has_no_place);
    std::erase_if(other_, has_no_place);
    for (auto& [key, stream] : bare_) {
      const auto at = other_.find(key);
      if (at == other_.end()) continue;
      const size_t both = std::min(stream.size(), at->second.size());
      stream.resize(both);
      at->second.resize(both);
    }
  }

  template <class Fits>
  void pair(Fits fits) {
    std::erase_if(bare_, [&](const auto& stream) {
      const auto at = std::ranges::find_if(other_, [&](const auto& other) { return fits(stream, other); });
      if (at == other_.end()) return false;
      other_.erase(at);
      return true;
    });
  }

  Streams bare_, other_;
};

// Steps are those of the first optimizer. If others step at the same time, their work after its last step is not
// another step.
uint64_t steps_of(const Process& process) {
  uint64_t steps = 0;
  size_t longest = 0;
  for (const auto& [key, stream] : streams_of(process)) {
    for (const RecordedChecksum* checksum : stream) steps = std::max(steps, checksum->step + 1);
    if (key.first == ChecksumOf::parameter) longest = std::max(longest, stream.size());
  }
  return longest > 0 ? std::min<uint64_t>(steps, longest) : steps;
}

void count(const Process& process, bool is_cut, Compared& compared) {
  for (const RecordedChecksum& checksum : process.checksums) {
    if (is_cut && process.has_threads && !has_place(checksum.of)) continue;  // not compared
    (checksum.of == ChecksumOf::loss                ? compared.losses
     : checksum.of == ChecksumOf::gradient          ? compared.gradients
     : checksum.of == ChecksumOf::returned_gradient ? compared.returned_gradients
                                                    : compared.parameters)++;
  }
  compared.steps = std::max(compared.steps, steps_of(process));
  compared.gradients_left_out += process.gradients_left_out;
  compared.parameters_left_out += process.parameters_left_out;
}

// Whether every process has a different rank; ranks then pair the processes.
bool has_ranks(const std::vector<Process>& processes) {
  for (size_t i = 0; i < processes.size(); ++i) {  // sorted by rank
    if (processes[i].rank < 0 || (i > 0 && processes[i].rank == processes[i - 1].rank)) return false;
  }
  return true;
}

}  // namespace

Compared comparable(const ProgramRun& bare) {
  Compared compared;
  for (const Process& process : bare.processes) count(process, bare.is_cut, compared);
  return compared;
}

OnlyInOne take_out_gradients_of_one(ProgramRun& bare, ProgramRun& other) {
  OnlyInOne out;
  const bool by_rank = has_ranks(bare.processes) && has_ranks(other.processes);
  if (!by_rank && (bare.processes.size() != 1 || other.processes.size() != 1)) return out;
  using Key = std::tuple<ChecksumOf, uint64_t, std::string>;
  const auto is_gradient = [](const RecordedChecksum& one) {
    return one.of == ChecksumOf::gradient || one.of == ChecksumOf::returned_gradient;
  };
  const auto gradients_of = [&](const Process& process) {
    std::set<Key> keys;
    for (const RecordedChecksum& one : process.checksums) {
      if (is_gradient(one)) keys.emplace(one.of, one.step, one.name);
    }
    return keys;
  };
  const auto keep = [&](Process& process, const std::set<Key>& keys) {
    return std::erase_if(process.checksums, [&](const RecordedChecksum& one) {
      return is_gradient(one) && !keys.contains({one.of, one.step, one.name});
    });
  };
  for (Process& a : bare.processes) {
    const auto b = by_rank ? std::ranges::find(other.processes, a.rank, &Process::rank) : other.processes.begin();
    if (b == other.processes.end()) continue;
    const std::set<Key> of_bare = gradients_of(a), of_other = gradients_of(*b);
    out.bare += keep(a, of_other);
    out.other += keep(*b, of_bare);
  }
  return out;
}

std::optional<Difference> compare(const ProgramRun& bare, const ProgramRun& other) {
  if (bare.figures.exit_code != other.figures.exit_code) {
    Difference difference;
    difference.kind = Difference::Kind::exit_code;
    difference.bare = std::to_string(bare.figures.exit_code);
    difference.rewritten = std::to_string(other.figures.exit_code);
    return difference;
  }
  const bool is_cut = bare.is_cut || other.is_cut;
  const bool by_rank = has_ranks(bare.processes) && has_ranks(other.processes);
  std::vector<const Process*> others, left;
  for (const Process& process : other.processes) others.push_back(&process);
  for (const Process& process : bare.processes) {
    const auto at = std::ranges::find_if(others, [&](const Process* one) {
      return by_rank ? one->rank == process.rank : Remaining(process, *one, is_cut).empty();
    });
    if (at == others.end() || (by_rank && !Remaining(process, **at, is_cut).empty())) {
      left.push_back(&process);
    } else {
      others.erase(at);
    }
  }
  static const Process none;
  std::optional<Difference> first;
  for (size_t i = 0; i < std::max(left.size(), others.size()); ++i) {
    const Process& a = i < left.size() ? *left[i] : none;
    // Without ranks, the remaining processes pair by index: they certainly differ, but the pairs are arbitrary.
    const auto partner = std::ranges::find(others, a.rank, &Process::rank);
    const Process& b = by_rank && &a != &none ? (partner != others.end() ? **partner : none)
                       : i < others.size()    ? *others[i]
                                              : none;
    const auto found = Remaining(a, b, is_cut).first(by_rank ? (&a != &none ? a.rank : b.rank) : -1);
    if (found && (!first || found->step < first->step)) first = found;
  }
  return first;
}

}  // namespace tapelens::verify
