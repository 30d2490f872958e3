#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

#include "analyzer/compare/run_figures.h"
#include "analyzer/model/words.h"
#include "analyzer/text/json.h"

namespace tapelens::compare {

namespace {

using text::Json;

constexpr const char* kFormat = "tapelens baseline";
constexpr uint64_t kVersion = 1;

// ---- writing

// Only the file's name: the same program in another folder is the same program.
std::string base_name(const std::string& file) { return file.substr(file.rfind('/') + 1); }

Json row_json(const Row& row) {
  return {{"kind", kind_name(row.kind)},
          {"node", row.node},
          {"field", row.field},
          {"name", row.name},
          {"operator", row.op},
          {"module", row.module},
          {"file", base_name(row.source.file)},
          {"function", row.source.function},
          {"statement", row.statement},
          {"dtype", row.dtype},
          {"sizes", row.sizes},
          {"line", row.source.line},
          {"bytes", row.bytes.value},
          {"allocations", row.allocations}};
}

Json finding_json(const KnownFinding& f) {
  return {{"id", f.id},
          {"check", f.check},
          {"severity", severity_name(f.severity)},
          {"title", f.title},
          {"node", f.node},
          {"field", f.field},
          {"operator", f.op},
          {"module", f.module},
          {"file", base_name(f.source.file)},
          {"function", f.source.function},
          {"line", f.source.line},
          {"statement", f.statement},
          {"bytes", f.bytes.value},
          {"gain", f.gain.value}};
}

// Writes one key a line; a value in `lines` has one element a line.
class Writer {
 public:
  void add(const char* key, const Json& value) { begin(key) += text(value); }
  void add_lines(const char* key, const std::vector<Json>& lines) {
    std::string& out = begin(key);
    out += '[';
    for (size_t i = 0; i < lines.size(); ++i) out += (i == 0 ? "\n" : ",\n") + std::string(2, ' ') + text(lines[i]);
    out += lines.empty() ? "]" : "\n]";
  }
  std::string take() { return "{\n" + out_ + "\n}\n"; }

 private:
  static std::string text(const Json& value) { return value.dump(-1, ' ', true, Json::error_handler_t::replace); }
  std::string& begin(const char* key) {
    out_ += (out_.empty() ? "\"" : ",\n\"") + std::string(key) + "\": ";
    return out_;
  }
  std::string out_;
};

std::vector<Json> in_order(std::vector<Json> lines) {
  std::ranges::sort(lines, {},
                    [](const Json& line) { return line.dump(-1, ' ', true, Json::error_handler_t::replace); });
  return lines;
}

// ---- reading: throws a Json::exception on invalid input

[[noreturn]] void refuse(const char* why, const Json& value) { throw Json::out_of_range::create(406, why, &value); }

uint64_t number(const Json& value, uint64_t most = static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
  const uint64_t out = value.get_ref<const Json::number_unsigned_t&>();
  if (out > most) refuse("a number out of range", value);
  return out;
}
// The sum of all numbers must fit a signed 64-bit number, which holds sums everywhere.
class RunningSum {
 public:
  void add(const Json& value) {
    if (!value.is_number_integer()) return;
    const bool is_negative = !value.is_number_unsigned();  // the parser makes signed integers only of negative numbers
    const uint64_t number = is_negative ? ~value.get<uint64_t>() : value.get<uint64_t>();
    if (__builtin_add_overflow(total_, number, &total_)) refuse("numbers that add up to more than 2^63", value);
  }

 private:
  int64_t total_ = 0;
};
Bytes bytes(const Json& value) { return Bytes{static_cast<int64_t>(number(value))}; }
// Does not use Json::get, which converts any number to an integer.
int64_t signed_number(const Json& value, int64_t least, int64_t most) {
  if (!value.is_number_integer() || (value.is_number_unsigned() && value.get<uint64_t>() > static_cast<uint64_t>(most)))
    refuse("no whole number, or one out of range", value);
  const auto out = value.get<int64_t>();
  if (out < least || out > most) refuse("a number out of range", value);
  return out;
}
std::string text(const Json& value) { return value.get_ref<const std::string&>(); }

template <class Kind>
Kind kind_of(const Json& value, size_t count, const char* (*name)(Kind)) {
  for (size_t i = 0; i < count; ++i) {
    if (text(value) == name(static_cast<Kind>(i))) return static_cast<Kind>(i);
  }
  refuse("a word that is not known", value);
}

Frame source_of(const Json& from) {
  return {text(from.at("file")), text(from.at("function")), static_cast<uint32_t>(number(from.at("line"), UINT32_MAX))};
}

Row row_of(const Json& from) {
  Row row;
  row.bytes = bytes(from.at("bytes"));
  row.allocations = number(from.at("allocations"));
  row.kind = kind_of(from.at("kind"), peak::kHolderKinds, peak::kind_name);
  row.node = text(from.at("node"));
  row.field = text(from.at("field"));
  row.name = text(from.at("name"));
  row.op = text(from.at("operator"));
  row.module = text(from.at("module"));
  row.source = source_of(from);
  row.statement = text(from.at("statement"));
  row.dtype = text(from.at("dtype"));
  for (const Json& size : from.at("sizes")) row.sizes.push_back(number(size));
  return row;
}

KnownFinding finding_of(const Json& from) {
  return {
      text(from.at("id")),        text(from.at("check")),  kind_of(from.at("severity"), 3, check::severity_name),
      text(from.at("title")),     text(from.at("node")),   text(from.at("field")),
      text(from.at("operator")),  text(from.at("module")), source_of(from),
      text(from.at("statement")), bytes(from.at("bytes")), Bytes{signed_number(from.at("gain"), INT64_MIN, INT64_MAX)}};
}

uint64_t of_hex(const Json& value) {
  const std::string digits = text(value);
  if (digits.size() != 16 || digits.find_first_not_of("0123456789abcdef") != std::string::npos) {
    refuse("no checksum", value);
  }
  return std::stoull(digits, nullptr, 16);
}

DeviceFigures device_of(const Json& from) {
  DeviceFigures out;
  out.device = text(from.at("device"));
  out.peak = bytes(from.at("peak"));
  out.saved = bytes(from.at("saved"));
  if (!from.at("reserved").is_null()) out.reserved = bytes(from.at("reserved"));
  out.peak_step = static_cast<uint32_t>(number(from.at("peak_step"), UINT32_MAX));
  out.peak_phase = text(from.at("peak_phase"));
  out.step_allocations = number(from.at("step_allocations"));
  out.other_threads = bytes(from.at("other_threads"));
  for (const Json& step : from.at("steps")) {
    out.steps.push_back({bytes(step.at(0)), bytes(step.at(1)), number(step.at(2))});
  }
  return out;
}

RunFigures figures_of(const Json& from) {
  RunFigures out;
  out.command = text(from.at("command"));
  out.torch_version = text(from.at("torch_version"));
  out.simulated_gpu = text(from.at("simulated_gpu"));
  out.steps = text(from.at("steps"));
  for (const Json& one : from.at("devices")) {
    const auto rank = static_cast<int32_t>(signed_number(one.at("rank"), -1, INT32_MAX));
    const auto process = number(one.at("process"), 1 << 20);
    if (process > out.processes.size()) refuse("a process that is not the next one", one);
    if (process == out.processes.size()) out.processes.push_back({rank, {}});
    out.processes.back().devices.push_back(device_of(one));
  }
  for (const Json& one : from.at("rows")) {
    const auto process = number(one.at("process"), 1 << 20);
    if (process >= out.processes.size()) refuse("an unknown process", one);
    auto& devices = out.processes[process].devices;
    const auto device = std::ranges::find(devices, text(one.at("device")), &DeviceFigures::device);
    if (device == devices.end()) refuse("an unknown device", one);
    device->rows.push_back(row_of(one));
  }
  for (ProcessFigures& process : out.processes) {
    for (DeviceFigures& device : process.devices) {
      std::ranges::stable_sort(device.rows, std::ranges::greater(), &Row::bytes);
    }
  }
  for (const Json& one : from.at("findings")) out.findings.push_back(finding_of(one));
  for (const Json& one : from.at("sources")) {
    out.sources.push_back({text(one.at("file")), number(one.at("bytes")), of_hex(one.at("hash"))});
  }
  return out;
}

}  // namespace

std::string baseline_json(const RunFigures& run, const check::SourceTree& tree, std::string_view version) {
  Writer out;
  out.add("format", kFormat);
  out.add("version", kVersion);
  out.add("tapelens", std::string(version));
  out.add("command", run.command);
  out.add("torch_version", run.torch_version);
  out.add("simulated_gpu", run.simulated_gpu);
  out.add("steps", run.steps);
  std::vector<Json> sources, devices, rows, findings;
  for (const SourceVersion& source : run.sources) {
    const std::string within = check::in_repository(source.file, tree);
    sources.push_back({{"file", within.empty() ? base_name(source.file) : within},
                       {"bytes", source.bytes},
                       {"hash", model::hex_text(source.hash)}});
  }
  for (size_t process = 0; process < run.processes.size(); ++process) {
    for (const DeviceFigures& d : run.processes[process].devices) {
      Json steps = Json::array();
      for (const StepFigures& step : d.steps) {
        steps.push_back(Json::array({step.begin.value, step.peak.value, step.allocations}));
      }
      devices.push_back({{"process", process},
                         {"rank", run.processes[process].rank},
                         {"device", d.device},
                         {"peak", d.peak.value},
                         {"saved", d.saved.value},
                         {"reserved", d.reserved ? Json(d.reserved->value) : Json(nullptr)},
                         {"peak_step", d.peak_step},
                         {"peak_phase", d.peak_phase},
                         {"step_allocations", d.step_allocations},
                         {"other_threads", d.other_threads.value},
                         {"steps", std::move(steps)}});
      for (const Row& row : d.rows) {
        Json one = {{"process", process}, {"device", d.device}};
        one.update(row_json(row));
        rows.push_back(std::move(one));
      }
    }
  }
  for (const KnownFinding& finding : run.findings) findings.push_back(finding_json(finding));
  out.add_lines("sources", in_order(std::move(sources)));
  out.add_lines("devices", devices);  // devices of the processes, in their order
  out.add_lines("rows", in_order(std::move(rows)));
  out.add_lines("findings", in_order(std::move(findings)));
  return out.take();
}

trace::Result<RunFigures> read_baseline(std::string_view json) {
  try {
    RunningSum sum;
    const Json from = text::parse_bounded<Json>(json, [&sum](const Json& value) { sum.add(value); });
    if (!from.is_object() || from.value("format", "") != kFormat) {
      return trace::Error{
          "is JSON, but no baseline (a report has not enough): write one with tapelens check RECORDING "
          "--write-baseline FILE, or name the recording itself"};
    }
    if (number(from.at("version")) != kVersion) {
      return trace::Error{
          "is a baseline of another version of Tapelens: write it again with tapelens check RECORDING "
          "--write-baseline FILE"};
    }
    return figures_of(from);
  } catch (const Json::exception& error) {
    return trace::Error{std::string("cannot be read as a baseline: ") + error.what() +
                        ": write it again with tapelens check RECORDING --write-baseline FILE"};
  }
}

}  // namespace tapelens::compare
