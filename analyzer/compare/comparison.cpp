#include "analyzer/compare/comparison.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <numeric>
#include <set>

#include "analyzer/model/words.h"
#include "analyzer/report/findings_text.h"
#include "analyzer/text/format.h"

namespace tapelens::compare {

namespace {

std::string base_name(const std::string& file) { return file.substr(file.rfind('/') + 1); }

// How many parts two paths have in common at their ends.
size_t common_end(std::string_view a, std::string_view b) {
  size_t parts = 0;
  while (true) {
    const size_t in_a = a.rfind('/'), in_b = b.rfind('/');
    if (a.substr(in_a + 1) != b.substr(in_b + 1)) return parts;
    ++parts;
    if (in_a == std::string_view::npos || in_b == std::string_view::npos) return parts;
    a = a.substr(0, in_a);
    b = b.substr(0, in_b);
  }
}

// The version in `all` of the file that `of` is a version of; null if none.
const SourceVersion* version_of(const SourceVersion& of, const std::vector<SourceVersion>& all) {
  const SourceVersion* best = nullptr;
  size_t most = 0;
  for (const SourceVersion& one : all) {
    if (const size_t common = common_end(one.file, of.file); common > most) {
      most = common;
      best = &one;
    }
  }
  return best;
}

std::vector<ChangedFile> changes_of(Comparison& c, const FindText& text_of_a, const FindText& text_of_b) {
  std::vector<ChangedFile> out;
  std::set<const SourceVersion*> paired;
  std::vector<std::pair<const SourceVersion*, const SourceVersion*>> pairs;
  std::vector<const SourceVersion*> fresh;
  for (const SourceVersion& b : c.b.sources) {
    const SourceVersion* a = version_of(b, c.a.sources);
    if (a == nullptr) {
      fresh.push_back(&b);
      continue;
    }
    paired.insert(a);
    pairs.emplace_back(a, &b);
  }
  std::vector<const SourceVersion*> gone;
  for (const SourceVersion& a : c.a.sources) {
    if (!paired.contains(&a)) gone.push_back(&a);
  }
  if (gone.size() == 1 && fresh.size() == 1) pairs.emplace_back(gone[0], fresh[0]);  // the file was renamed
  for (const auto& [a, b] : pairs) {
    if (a->hash == b->hash && a->bytes == b->bytes) continue;
    auto before = text_of_a ? text_of_a(*a) : std::nullopt;
    // The baseline may be from another folder; git then finds that version by the file's name here.
    if (!before && text_of_b) before = text_of_b({b->file, a->bytes, a->hash});
    const auto after = text_of_b ? text_of_b(*b) : std::nullopt;
    if (before && after) {
      out.push_back({b->file, changed_lines(*before, *after)});
    } else {
      c.remarks.push_back(base_name(b->file) + " is another version than in " + c.a.label + ", and that of " +
                          (before ? c.b.label : c.a.label) +
                          " is neither on the disk nor in git: changed lines are not known");
    }
  }
  return out;
}

// The ratio by which one dimension of the saved tensors differs, if most of their bytes have the same ratio.
double size_ratio(const std::vector<ComparedRow>& rows) {
  std::map<std::pair<uint64_t, uint64_t>, int64_t> bytes;  // by the ratio, as a reduced pair
  int64_t all = 0;
  for (const ComparedRow& row : rows) {
    if (!row.a || !row.b || row.a->kind != peak::HolderKind::save || row.a->sizes.size() != row.b->sizes.size())
      continue;
    size_t differ = 0, at = 0;
    for (size_t i = 0; i < row.a->sizes.size(); ++i) {
      if (row.a->sizes[i] == row.b->sizes[i]) continue;
      ++differ;
      at = i;
    }
    all += row.b->bytes.value;
    if (differ != 1 || row.a->sizes[at] == 0 || row.b->sizes[at] == 0) continue;
    const uint64_t divisor = std::gcd(row.a->sizes[at], row.b->sizes[at]);
    bytes[{row.a->sizes[at] / divisor, row.b->sizes[at] / divisor}] += row.b->bytes.value;
  }
  for (const auto& [ratio, sum] : bytes) {
    if (sum * 2 > all) return static_cast<double>(ratio.second) / static_cast<double>(ratio.first);
  }
  return 1;
}

// If the run refers to more other live tensors: how to find the variables that hold them.
void note_variables(const ComparedDevice& device, std::vector<std::string>& remarks) {
  constexpr int64_t kWorth = 100;  // divisor of the peak
  Bytes more;
  for (const ComparedRow& row : device.rows) {
    if (row.shown().kind == peak::HolderKind::program) more += row.difference();
  }
  if (!device.b.lacks_variables || more <= Bytes{} || more.value * kWorth < device.b.peak.value) return;
  remarks.push_back(device.name + ": the program refers to " + text::bytes_text(more) +
                    " more of other live tensors; tapelens record --referrers names the variables");
}

ComparedDevice compared_device(std::string name, const DeviceFigures& a, const DeviceFigures& b, Comparison& of) {
  std::vector<std::string>& remarks = of.remarks;
  ComparedDevice out{std::move(name), a, b, a.peak, b.peak, {}, 1};
  const size_t common = std::min(a.steps.size(), b.steps.size());
  if (a.steps.size() != b.steps.size() && common > 0) {
    const auto most = [&](const DeviceFigures& one) {
      Bytes peak;
      for (size_t i = 0; i < common; ++i) peak = std::max(peak, one.steps[i].peak);
      return peak;
    };
    out.peak_a = most(a);
    out.peak_b = most(b);
    remarks.push_back(out.name + ": " + of.a.label + " has " + text::plural(a.steps.size(), "step", "steps") + ", " +
                      of.b.label + " " + std::to_string(b.steps.size()) + ": the peaks of the first " +
                      std::to_string(common) + " are compared; the live allocations are those at the peak of each run");
  }
  for (const Pair& pair : matched(a.rows, b.rows)) {
    ComparedRow row;
    if (pair.a) row.a = a.rows[*pair.a];
    if (pair.b) row.b = b.rows[*pair.b];
    out.rows.push_back(std::move(row));
  }
  std::ranges::stable_sort(out.rows, std::ranges::greater(),
                           [](const ComparedRow& row) { return std::abs(row.difference().value); });
  out.size_ratio = size_ratio(out.rows);
  if (out.size_ratio != 1) {
    char ratio[32];
    std::snprintf(ratio, sizeof ratio, "%.3g", out.size_ratio);
    remarks.push_back(out.name + ": most saved tensors are " + ratio +
                      " times as large in one dimension: the runs differ in batch, sequence length or resolution");
  }
  const Bytes others = std::max(a.other_threads, b.other_threads);
  if (others > Bytes{}) {
    remarks.push_back(out.name + ": up to " + text::bytes_text(others) +
                      " of threads that do not train are left out: when they allocate differs from run to run");
  }
  note_variables(out, remarks);
  return out;
}

std::string device_name(const DeviceFigures& device, int32_t rank, bool has_ranks) {
  return device.device + (has_ranks && rank >= 0 ? " of rank " + std::to_string(rank) : "");
}

run::Precedence precedence(const ProcessFigures& process) {
  run::Precedence most;
  for (const DeviceFigures& device : process.devices) most = std::max(most, device.precedence());
  return most;
}

const ProcessFigures& largest(const RunFigures& of) { return *std::ranges::max_element(of.processes, {}, precedence); }

void compare_process(const ProcessFigures& a, const ProcessFigures& b, bool has_ranks, Comparison& out) {
  for (const DeviceFigures& device : b.devices) {
    const auto before = std::ranges::find(a.devices, device.device, &DeviceFigures::device);
    if (before == a.devices.end()) {
      out.remarks.push_back(device_name(device, b.rank, has_ranks) + " is in " + out.b.label +
                            " alone, with a peak of " + text::bytes_text(device.peak));
      continue;
    }
    out.devices.push_back(compared_device(device_name(device, b.rank, has_ranks), *before, device, out));
  }
  for (const DeviceFigures& device : a.devices) {
    if (std::ranges::find(b.devices, device.device, &DeviceFigures::device) != b.devices.end()) continue;
    const std::string name = device_name(device, a.rank, has_ranks);
    out.missing.push_back({name, device.device, device.peak});
    out.remarks.push_back(name + " is in " + out.a.label + " alone, with a peak of " + text::bytes_text(device.peak));
  }
}

void note_differences(Comparison& c) {
  const auto differ = [&](const char* what, const std::string& a, const std::string& b, const char* consequence) {
    if (a == b) return;
    c.remarks.push_back(std::string(what) + ": " + c.a.label + " has " + (a.empty() ? "none" : a) + ", " + c.b.label +
                        " " + (b.empty() ? "none" : b) + consequence);
  };
  differ("PyTorch", c.a.torch_version, c.b.torch_version, ": this alone may change operators and their allocations");
  differ("simulated GPU", c.a.simulated_gpu, c.b.simulated_gpu,
         ": kernels are chosen by the GPU, and their workspaces with them");
  differ("recorded steps", c.a.steps, c.b.steps, ": before the first of them nothing has a holder");
  for (const RunFigures* one : {&c.a, &c.b}) {
    for (const std::string& why : one->incomplete) {
      c.remarks.push_back(one->label + " is not complete: " + why);
    }
  }
  if (!c.b.value_reads.empty()) {
    c.remarks.push_back(
        "the peak may depend on values that the simulated GPU did not compute, read at " + c.b.value_reads.front() +
        (c.b.value_reads.size() > 1 ? " and " + text::plural(c.b.value_reads.size() - 1, "place", "places") + " more"
                                    : ""));
  }
}

}  // namespace

Change ComparedRow::change() const {
  if (!a) return Change::is_new;
  if (!b) return Change::removed;
  return before() < after() ? Change::increased : after() < before() ? Change::decreased : Change::same;
}

std::vector<ComparedRow> ComparedDevice::grown() const {
  std::vector<ComparedRow> out;
  std::ranges::copy_if(rows, std::back_inserter(out),
                       [](const ComparedRow& row) { return row.difference() > Bytes{}; });
  return out;
}

trace::Result<Comparison> compare(RunFigures a, RunFigures b, const FindText& text_of_a, const FindText& text_of_b) {
  Comparison out;
  out.a = std::move(a);
  out.b = std::move(b);
  const auto &in_a = out.a.processes, &in_b = out.b.processes;
  if (in_a.size() == in_b.size()) {
    for (size_t i = 0; i < in_b.size(); ++i) compare_process(in_a[i], in_b[i], in_b.size() > 1, out);
  } else {
    out.remarks.push_back(out.a.label + " has " + text::plural(in_a.size(), "process", "processes") + ", " +
                          out.b.label + " " + std::to_string(in_b.size()) +
                          ": that with the largest peak of each is compared");
    compare_process(largest(out.a), largest(out.b), false, out);
    for (const ProcessFigures& process : in_a) {
      if (process.rank < 0 || std::ranges::find(in_b, process.rank, &ProcessFigures::rank) != in_b.end()) continue;
      out.missing.push_back({"rank " + std::to_string(process.rank), "", precedence(process).peak});
    }
  }
  if (out.devices.empty()) {
    std::string why = "the two recordings have no device in common";
    for (const std::string& remark : out.remarks) why += "; " + remark;
    return trace::Error{why, trace::ErrorKind::nothing_compared};
  }
  for (const uint32_t place : new_findings(out.a.findings, out.b.findings)) {
    out.new_findings.push_back(out.b.findings[place]);
  }
  for (const uint32_t place : new_findings(out.b.findings, out.a.findings)) {
    out.gone_findings.push_back(out.a.findings[place]);
  }
  note_differences(out);
  out.changes = changes_of(out, text_of_a, text_of_b);
  return out;
}

std::string holder_text(const Row& row) {
  if (row.kind == peak::HolderKind::save) {
    const bool is_known = !row.node.empty() || !row.field.empty();  // not of an imported recording
    return is_known ? model::field_name(row.node, row.field) : peak::category_name(row.kind);
  }
  report::Holder holder;
  holder.kind = row.kind;
  // Optimizer state has its own name and its parameter's; only one of them is in the row.
  if (row.kind == peak::HolderKind::optimizer_state) {
    return "optimizer state" + (row.name.empty() ? "" : " of " + row.name);
  }
  holder.name = row.name;
  holder.node = row.node;
  holder.field = row.field;
  if (row.kind == peak::HolderKind::op && row.name.empty()) holder.name = row.op;
  return report::holder_text(holder);
}

std::string place_text(const Frame& frame) {
  const std::string text = report::source_text(frame);
  return text.empty() ? "(no stack)" : text;
}

std::vector<ComparedGroup> grouped(const ComparedDevice& device, By by) {
  std::vector<ComparedGroup> all;
  const auto name = [by](const Row& shown, const Row& own) -> std::string {
    switch (by) {
      case By::line:
        return place_text(shown.source);
      case By::field:
        return own.kind == peak::HolderKind::save ? holder_text(own) : category_name(own.kind);
      case By::module:
        return shown.module.empty() ? "(outside of modules)" : shown.module;
      case By::category:
        return category_name(own.kind);
      case By::op:
        return own.op.empty() ? "(no operator)" : own.op;
    }
    return "";
  };
  // Matched rows are one group, under the name that they have in `b`.
  for (const ComparedRow& row : device.rows) {
    if (row.a) all.push_back({name(row.shown(), *row.a), row.a->bytes, {}, row.a->allocations, 0});
    if (row.b) all.push_back({name(row.shown(), *row.b), {}, row.b->bytes, 0, row.b->allocations});
  }
  return summed(std::move(all));
}

}  // namespace tapelens::compare
