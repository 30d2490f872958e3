// Writes and reads a summary as JSON. The input is unverified: each number has bounds, so that sums over thousands of
// ranks do not overflow.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "analyzer/ranks/summary.h"
#include "analyzer/text/json.h"
#include "trace/sealed_format.h"

namespace tapelens::ranks {

namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kFormat = "tapelens summary";
constexpr uint64_t kVersion = 1;
constexpr uint64_t kMostBytes = uint64_t{1} << 50;
constexpr size_t kLongestName = 160, kLongestCommand = 1024;
constexpr size_t kMostLost = 16;

// ---- writing

// The limits of each list in a summary.
struct Limits {
  size_t sums = 48, findings = 64, devices = 4, points = Curve::kMostPoints;
};

std::string cut(const std::string& text, size_t most = kLongestName) {
  if (text.size() <= most) return text;
  size_t end = most;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
  return text.substr(0, end) + "…";
}

Json sums_json(const Sums& sums, size_t most) {
  Json rows = Json::array();
  uint64_t left_out = sums.left_out;
  Bytes rest = sums.rest;
  for (size_t i = 0; i < sums.rows.size(); ++i) {
    const Sum& row = sums.rows[i];
    if (i < most) {
      rows.push_back(Json::array({cut(row.key), row.bytes.value, row.allocations}));
    } else {
      ++left_out;
      rest += row.bytes;
    }
  }
  return {{"rows", std::move(rows)}, {"left_out", left_out}, {"rest", rest.value}};
}

Json curve_json(const Curve& curve, size_t most) {
  Curve shown = curve;
  while (shown.most.size() > std::max<size_t>(most, 2) && shown.exponent > Curve::kCoarsest) {
    shown = coarser(curve, shown.exponent - 1);
  }
  return {{"exponent", shown.exponent}, {"first", shown.first}, {"most", shown.most}};
}

Json device_json(const DeviceSummary& device, const Limits& limits) {
  Json by = Json::object();
  for (size_t i = 0; i < kByNames.size(); ++i) by[kByNames[i]] = sums_json(device.by[i], limits.sums);
  return {{"device", cut(device.device)},
          {"peak", device.peak.value},
          {"reserved_peak", device.reserved_peak ? Json(device.reserved_peak->value) : Json(nullptr)},
          {"peak_step", device.peak_step},
          {"peak_phase", device.peak_phase},
          {"by", std::move(by)},
          {"curve", curve_json(device.curve, limits.points)}};
}

Json finding_json(const FindingSummary& f) {
  return {{"id", cut(f.id)},         {"check", cut(f.check)},   {"severity", f.severity},
          {"title", cut(f.title)},   {"module", cut(f.module)}, {"field", cut(f.field)},
          {"source", cut(f.source)}, {"bytes", f.bytes.value},  {"gain", f.gain.value}};
}

Json process_json(const RankSummary& p, const Limits& limits) {
  Json devices = Json::array(), lost = Json::array(), findings = nullptr, out_of_memory = nullptr;
  const size_t devices_kept = std::min(limits.devices, p.devices.size());
  const size_t findings_kept = p.findings ? std::min(limits.findings, p.findings->size()) : 0;
  for (size_t i = 0; i < devices_kept; ++i) {
    devices.push_back(device_json(p.devices[i], limits));
  }
  for (size_t i = 0; i < std::min(kMostLost, p.lost.size()); ++i) lost.push_back(p.lost[i]);
  if (p.findings) {
    findings = Json::array();
    for (size_t i = 0; i < findings_kept; ++i) findings.push_back(finding_json((*p.findings)[i]));
  }
  if (const auto& last = p.last_out_of_memory) {
    out_of_memory = {{"device", cut(last->device)}, {"bytes", last->bytes.value},  {"step", last->step},
                     {"operator", cut(last->op)},   {"module", cut(last->module)}, {"source", cut(last->source)}};
  }
  return {{"rank", p.rank},
          {"world_size", p.world_size},
          {"pid", p.pid},
          {"host", cut(p.host)},
          {"mesh_coordinate", cut(p.mesh_coordinate)},
          {"finished", p.finished},
          {"running", p.running},
          {"exit_code", p.exit_code ? Json(*p.exit_code) : Json(nullptr)},
          {"begin_ns", p.begin_ns},
          {"end_ns", p.end_ns},
          {"steps", p.steps},
          {"devices", std::move(devices)},
          {"devices_left_out", p.devices_left_out + p.devices.size() - devices_kept},
          {"out_of_memory", p.out_of_memory},
          {"last_out_of_memory", std::move(out_of_memory)},
          {"lost", std::move(lost)},
          {"findings", std::move(findings)},
          {"findings_left_out", p.findings_left_out + (p.findings ? p.findings->size() - findings_kept : 0)}};
}

std::string written(const Summary& summary, const Limits& limits) {
  Json processes = Json::array();
  for (const RankSummary& process : summary.processes) processes.push_back(process_json(process, limits));
  const Json all = {{"format", kFormat},
                    {"version", kVersion},
                    {"tapelens", summary.tapelens},
                    {"command", cut(summary.command, kLongestCommand)},
                    {"torch_version", cut(summary.torch_version)},
                    {"simulated_gpu", cut(summary.simulated_gpu)},
                    {"steps", cut(summary.steps)},
                    {"processes", std::move(processes)}};
  return all.dump(-1, ' ', false, Json::error_handler_t::replace);
}

// ---- reading: throws a Json::exception on invalid input

[[noreturn]] void refuse(const char* why, const Json& value) { throw Json::out_of_range::create(406, why, &value); }

uint64_t number(const Json& value, uint64_t most = UINT64_MAX) {
  const uint64_t out = value.get_ref<const Json::number_unsigned_t&>();
  if (out > most) refuse("a number out of range", value);
  return out;
}
Bytes bytes(const Json& value) { return Bytes{static_cast<int64_t>(number(value, kMostBytes))}; }
std::string text(const Json& value) { return value.get_ref<const std::string&>(); }
bool flag(const Json& value) { return value.get_ref<const Json::boolean_t&>(); }
int64_t signed_number(const Json& value, int64_t least, int64_t most) {
  if (!value.is_number_integer()) refuse("no whole number", value);
  const auto out = value.get<int64_t>();
  if (out < least || out > most) refuse("a number out of range", value);
  return out;
}
const Json& list(const Json& value, size_t most) {
  if (!value.is_array() || value.size() > most) refuse("no list, or too long", value);
  return value;
}
constexpr size_t kMostRows = 4096;  // limit of any list within 64 KiB

Sums sums_of(const Json& from) {
  Sums out;
  for (const Json& row : list(from.at("rows"), kMostRows)) {
    out.rows.push_back({text(row.at(0)), bytes(row.at(1)), number(row.at(2), kMostBytes)});
  }
  out.left_out = number(from.at("left_out"), kMostBytes);
  out.rest = bytes(from.at("rest"));
  return out;
}

Curve curve_from(const Json& from) {
  Curve out;
  out.exponent = static_cast<int>(signed_number(from.at("exponent"), Curve::kCoarsest, Curve::kFinest));
  out.first = number(from.at("first"), uint64_t{1} << 40);
  for (const Json& one : list(from.at("most"), Curve::kMostPoints + 2)) out.most.push_back(bytes(one).value);
  return out;
}

DeviceSummary device_of(const Json& from) {
  DeviceSummary out;
  out.device = text(from.at("device"));
  out.peak = bytes(from.at("peak"));
  if (!from.at("reserved_peak").is_null()) out.reserved_peak = bytes(from.at("reserved_peak"));
  out.peak_step = static_cast<uint32_t>(number(from.at("peak_step"), UINT32_MAX));
  out.peak_phase = text(from.at("peak_phase"));
  for (size_t i = 0; i < kByNames.size(); ++i) out.by[i] = sums_of(from.at("by").at(kByNames[i]));
  out.curve = curve_from(from.at("curve"));
  return out;
}

FindingSummary finding_of(const Json& from) {
  return {text(from.at("id")),
          text(from.at("check")),
          text(from.at("severity")),
          text(from.at("title")),
          text(from.at("module")),
          text(from.at("field")),
          text(from.at("source")),
          bytes(from.at("bytes")),
          Bytes{signed_number(from.at("gain"), -static_cast<int64_t>(kMostBytes), static_cast<int64_t>(kMostBytes))}};
}

RankSummary process_of(const Json& from) {
  RankSummary out;
  out.rank = static_cast<int32_t>(signed_number(from.at("rank"), -1, INT32_MAX));
  out.world_size = static_cast<uint32_t>(number(from.at("world_size"), UINT32_MAX));
  out.pid = static_cast<uint32_t>(number(from.at("pid"), UINT32_MAX));
  out.host = text(from.at("host"));
  if (const auto at = from.find("mesh_coordinate"); at != from.end())
    out.mesh_coordinate = text(*at);  // missing in older summaries
  out.finished = flag(from.at("finished"));
  if (const auto at = from.find("running"); at != from.end()) out.running = flag(*at);  // missing in older summaries
  if (!from.at("exit_code").is_null()) out.exit_code = static_cast<uint8_t>(number(from.at("exit_code"), UINT8_MAX));
  out.begin_ns = number(from.at("begin_ns"));
  out.end_ns = number(from.at("end_ns"));
  out.steps = number(from.at("steps"), uint64_t{1} << 40);
  for (const Json& one : list(from.at("devices"), kMostRows)) out.devices.push_back(device_of(one));
  out.out_of_memory = number(from.at("out_of_memory"));
  if (const Json& last = from.at("last_out_of_memory"); !last.is_null()) {
    out.last_out_of_memory = {
        text(last.at("device")),   bytes(last.at("bytes")), static_cast<uint32_t>(number(last.at("step"), UINT32_MAX)),
        text(last.at("operator")), text(last.at("module")), text(last.at("source"))};
  }
  for (const Json& one : list(from.at("lost"), kMostRows)) out.lost.push_back(text(one));
  out.devices_left_out = number(from.at("devices_left_out"));
  out.findings_left_out = number(from.at("findings_left_out"));
  if (const Json& findings = from.at("findings"); !findings.is_null()) {
    out.findings.emplace();
    for (const Json& one : list(findings, kMostRows)) out.findings->push_back(finding_of(one));
  }
  return out;
}

}  // namespace

std::string summary_json(const Summary& summary) {
  Limits limits;
  for (int tries = 0; tries < 8; ++tries) {
    std::string text = written(summary, limits);
    if (text.size() <= trace::kMostSummaryBytes) return text;
    limits.sums = std::max<size_t>(limits.sums / 2, 1);
    limits.findings /= 2;
    limits.points /= 2;
    limits.devices = std::max<size_t>(limits.devices - 1, 1);
  }
  return {};
}

trace::Result<Summary> read_summary(std::string_view json) {
  try {
    if (json.size() > trace::kMostSummaryBytes) return trace::Error{"the summary is too large"};
    const Json from = text::parse_bounded<Json>(json);
    if (!from.is_object() || from.value("format", "") != kFormat) return trace::Error{"it has no summary"};
    if (number(from.at("version")) != kVersion) {
      return trace::Error{"its summary is of another version of Tapelens"};
    }
    Summary out;
    out.tapelens = text(from.at("tapelens"));
    out.command = text(from.at("command"));
    out.torch_version = text(from.at("torch_version"));
    out.simulated_gpu = text(from.at("simulated_gpu"));
    out.steps = text(from.at("steps"));
    for (const Json& one : list(from.at("processes"), kMostRows)) out.processes.push_back(process_of(one));
    return out;
  } catch (const Json::exception& error) {
    return trace::Error{std::string("its summary cannot be read: ") + error.what()};
  }
}

}  // namespace tapelens::ranks
