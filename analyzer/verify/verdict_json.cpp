#include <charconv>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "analyzer/model/words.h"
#include "analyzer/text/json.h"
#include "analyzer/verify/verdict.h"

namespace tapelens::verify {

namespace {

// Keeps keys in the order of writing.
using Json = nlohmann::ordered_json;

// ---- writing

Json number(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

Json or_null(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }

Json figures_json(const Figures& figures) {
  Json loss = Json::array(), gradients = Json::array();
  for (const double value : figures.loss) loss.push_back(number(value));
  for (const uint64_t value : figures.gradient_checksum) gradients.push_back(model::hex_text(value));
  return {{"exit_code", figures.exit_code},
          {"peak_bytes", figures.peak.value},
          {"last_step_peak_bytes", figures.last_step_peak.value},
          {"saved_peak_bytes", figures.saved_peak.value},
          {"step_ns", figures.step ? Json(figures.step->median) : Json(nullptr)},
          {"step_low_ns", figures.step ? Json(figures.step->low) : Json(nullptr)},
          {"step_high_ns", figures.step ? Json(figures.step->high) : Json(nullptr)},
          {"timed_steps", figures.step ? figures.step->steps : 0},
          {"loss", std::move(loss)},
          {"gradient_checksum", std::move(gradients)}};
}

Json time_json(const std::optional<TimeRatio>& time) {
  if (!time) return nullptr;
  return {{"ratio", time->ratio},
          {"low", time->low},
          {"high", time->high},
          {"is_too_short", time->is_too_short},
          {"is_measurable", time->is_measurable()}};
}

Json site_json(const policy::Site& site) {
  return {{"rewrite", site.rewrite}, {"module", site.module},
          {"operator", site.op},     {"node", site.node},
          {"field", site.field},     {"source", site.file.empty() ? "" : site.file + ":" + std::to_string(site.line)}};
}

bool has_step(Difference::Kind kind) { return kind != Difference::Kind::exit_code && kind != Difference::Kind::output; }

Json difference_json(const Difference& d, const char* other) {
  return {{"kind", kind_name(d.kind)},
          {"step", has_step(d.kind) ? Json(d.step) : Json(nullptr)},
          {"line", d.kind == Difference::Kind::output ? Json(d.step) : Json(nullptr)},
          {"rank", d.rank >= 0 ? Json(d.rank) : Json(nullptr)},
          {"parameter", d.name},
          {"bare", or_null(d.bare)},
          {other, or_null(d.rewritten)},
          {"rewrite", or_null(d.rewrite)},
          {"site", d.site ? site_json(*d.site) : Json(nullptr)}};
}

// Keys that only some programs have are left out if 0.
Json compared_json(const Compared& c) {
  Json made = {{"steps", c.steps}, {"losses", c.losses}, {"gradients", c.gradients}, {"parameters", c.parameters}};
  if (c.returned_gradients > 0) made["returned_gradients"] = c.returned_gradients;
  if (c.output_lines > 0) made["output_lines"] = c.output_lines;
  return made;
}

Json patch_json(const Patch& patch) {
  return {{"files", patch.files},
          {"unseen", patch.unseen},
          {"gradients_of_bare", patch.gradients_of_bare},
          {"gradients_of_patched", patch.gradients_of_patched}};
}

Json rounding_json(const Rounding& rounding) {
  Json gradients = Json::array();
  for (const GradientError& one : rounding.gradients) {
    gradients.push_back({{"parameter", one.name},
                         {"difference", number(one.difference)},
                         {"bare_error", number(one.bare)},
                         {"rewritten_error", number(one.rewritten)}});
  }
  return {{"unknown", or_null(rounding.unknown)}, {"gradients", std::move(gradients)}, {"left_out", rounding.left_out}};
}

// ---- reading: throws a Json::exception on invalid input

[[noreturn]] void refuse(const char* why, const Json& value) { throw Json::out_of_range::create(406, why, &value); }

// A whole number from 0 to `most`. Does not use Json::get, which converts any number.
template <class Number>
Number whole(const Json& value, Number most = std::numeric_limits<Number>::max()) {
  const uint64_t number = value.get_ref<const Json::number_unsigned_t&>();
  if (number > static_cast<uint64_t>(most)) refuse("a whole number out of range", value);
  return static_cast<Number>(number);
}

uint64_t count(const Json& value) { return static_cast<uint64_t>(whole<int64_t>(value)); }
Bytes bytes(const Json& value) { return Bytes{whole<int64_t>(value)}; }

std::string text(const Json& value) { return value.get_ref<const std::string&>(); }
// A string, or an empty string for null; empty strings are written as null.
std::string text_or_null(const Json& value) {
  if (value.is_null()) return {};
  if (text(value).empty()) refuse("an empty string", value);
  return text(value);
}

double real(const Json& value) {
  if (value.is_null()) return std::numeric_limits<double>::quiet_NaN();
  if (!value.is_number()) refuse("no number", value);
  return value.get<double>();
}

uint64_t of_hex(const Json& value) {
  const std::string digits = text(value);
  uint64_t number = 0;
  const char* end = digits.data() + digits.size();
  const auto [rest, error] = std::from_chars(digits.data(), end, number, 16);
  if (error != std::errc() || rest != end || digits != model::hex_text(number)) refuse("no checksum", value);
  return number;
}

// May be negative: the checksums can take longer than the step.
int64_t nanoseconds(const Json& value) {
  constexpr int64_t kMost = int64_t{1} << 62;
  const bool is_large = value.is_number_unsigned() && value.get<uint64_t>() > static_cast<uint64_t>(kMost);
  if (!value.is_number_integer() || is_large || value.get<int64_t>() < -kMost) refuse("no time", value);
  return value.get<int64_t>();
}

Figures figures_of(const Json& from) {
  Figures f;
  const Json& exit_code = from.at("exit_code");
  f.exit_code = whole<int>(exit_code);
  f.peak = bytes(from.at("peak_bytes"));
  f.last_step_peak = bytes(from.at("last_step_peak_bytes"));
  f.saved_peak = bytes(from.at("saved_peak_bytes"));
  if (const Json& ns = from.at("step_ns"); !ns.is_null()) {
    f.step.emplace().median = nanoseconds(ns);
    if (from.contains("timed_steps")) {
      f.step->low = nanoseconds(from.at("step_low_ns"));
      f.step->high = nanoseconds(from.at("step_high_ns"));
      f.step->steps = count(from["timed_steps"]);
      if (f.step->low > f.step->median || f.step->median > f.step->high) refuse("quartiles around no median", ns);
    }
  }
  for (const Json& value : from.at("loss")) f.loss.push_back(real(value));
  for (const Json& value : from.at("gradient_checksum")) f.gradient_checksum.push_back(of_hex(value));
  return f;
}

policy::Site site_of(const Json& from) {
  policy::Site site;
  site.rewrite = text(from.at("rewrite"));
  site.module = text(from.at("module"));
  site.op = text(from.at("operator"));
  site.node = text(from.at("node"));
  site.field = text(from.at("field"));
  const Json& value = from.at("source");
  const std::string source = text(value);
  if (source.empty()) return site;
  const size_t colon = source.rfind(':');
  if (colon == std::string::npos || colon == 0) refuse("no line of a file", value);
  const char *begin = source.data() + colon + 1, *end = source.data() + source.size();
  const auto [rest, error] = std::from_chars(begin, end, site.line);
  if (error != std::errc() || rest != end) refuse("no line of a file", value);
  site.file = source.substr(0, colon);
  return site;
}

Difference::Kind kind_of(const Json& value) {
  using Kind = Difference::Kind;
  for (const Kind kind :
       {Kind::loss, Kind::gradient, Kind::parameter, Kind::returned_gradient, Kind::output, Kind::exit_code}) {
    if (text(value) == kind_name(kind)) return kind;
  }
  refuse("nothing that is compared", value);
}

Difference difference_of(const Json& from, const char* other) {
  Difference d;
  d.kind = kind_of(from.at("kind"));
  if (has_step(d.kind)) d.step = count(from.at("step"));
  if (d.kind == Difference::Kind::output) d.step = count(from.at("line"));
  if (const Json& rank = from.at("rank"); !rank.is_null()) d.rank = whole<int32_t>(rank);
  d.name = text(from.at("parameter"));
  d.bare = text_or_null(from.at("bare"));
  d.rewritten = text_or_null(from.at(other));
  d.rewrite = text_or_null(from.at("rewrite"));
  if (const Json& site = from.at("site"); !site.is_null()) d.site = site_of(site);
  return d;
}

Patch patch_of(const Json& from) {
  Patch patch;
  for (const Json& file : from.at("files")) patch.files.push_back(text(file));
  for (const Json& file : from.at("unseen")) patch.unseen.push_back(text(file));
  patch.gradients_of_bare = count(from.at("gradients_of_bare"));
  patch.gradients_of_patched = count(from.at("gradients_of_patched"));
  return patch;
}

Rounding rounding_of(const Json& from) {
  Rounding rounding;
  rounding.unknown = text_or_null(from.at("unknown"));
  for (const Json& gradient : from.at("gradients")) {
    rounding.gradients.push_back({text(gradient.at("parameter")), real(gradient.at("difference")),
                                  real(gradient.at("bare_error")), real(gradient.at("rewritten_error"))});
  }
  rounding.left_out = count(from.at("left_out"));
  return rounding;
}

Verdict verdict_of(const Json& all) {
  Verdict v;
  v.is_deterministic = all.at("deterministic").get<bool>();
  if (const Json& patch = all.at("patch"); !patch.is_null()) v.patch = patch_of(patch);
  if (const Json& difference = all.at("first_difference"); !difference.is_null())
    v.difference = difference_of(difference, v.second());
  if (const Json& rounding = all.at("rounding"); !rounding.is_null()) v.rounding = rounding_of(rounding);
  const Json &compared = all.at("compared"), &left_out = all.at("not_compared");
  v.compared = {count(compared.at("steps")),      count(compared.at("losses")),    count(compared.at("gradients")),
                count(compared.at("parameters")), count(left_out.at("gradients")), count(left_out.at("parameters"))};
  if (compared.contains("returned_gradients")) v.compared.returned_gradients = count(compared["returned_gradients"]);
  if (compared.contains("output_lines")) v.compared.output_lines = count(compared["output_lines"]);
  if (all.contains("why_nothing_applied")) v.why_nothing_applied = text_or_null(all["why_nothing_applied"]);
  v.bare = figures_of(all.at("bare"));
  v.rewritten = figures_of(all.at(v.second()));
  for (const Json& one : all.at("applied")) {
    v.applied.push_back({text(one.at("rewrite")), whole<int>(one.at("level")), count(one.at("sites")),
                         count(one.at("times")), bytes(one.at("bytes")), bytes(one.at("kept_bytes"))});
  }
  for (const Json& one : all.at("skipped")) {
    v.skipped.push_back(
        {text(one.at("rewrite")), text(one.at("reason")), count(one.at("sites")), bytes(one.at("bytes"))});
  }
  const bool is_identical = all.at("identical").get<bool>();
  if (text(all.at("verdict")) != answer_name(v.answer()) || is_identical != (v.answer() == Answer::identical) ||
      (!v.is_deterministic && !v.difference) || (v.rounding && v.answer() != Answer::different) ||
      (!v.why_nothing_applied.empty() && (v.patch || !v.applied.empty())) ||
      (v.patch && (v.rounding || !v.applied.empty() || !v.skipped.empty()))) {
    refuse("it contradicts itself", all);
  }
  return v;
}

}  // namespace

std::string verdict_json(const Verdict& v) {
  Json applied = Json::array(), skipped = Json::array();
  for (const Applied& one : v.applied) {
    applied.push_back({{"rewrite", one.rewrite},
                       {"level", one.level},
                       {"sites", one.sites},
                       {"times", one.times},
                       {"bytes", one.bytes.value},
                       {"kept_bytes", one.kept.value}});
  }
  for (const Skipped& one : v.skipped) {
    skipped.push_back(
        {{"rewrite", one.rewrite}, {"reason", one.reason}, {"sites", one.sites}, {"bytes", one.bytes.value}});
  }
  const Compared& c = v.compared;
  const Json all = {{"verdict", answer_name(v.answer())},
                    {"identical", v.answer() == Answer::identical},
                    {"deterministic", v.is_deterministic},
                    {"first_difference", v.difference ? difference_json(*v.difference, v.second()) : Json(nullptr)},
                    {"rounding", v.rounding ? rounding_json(*v.rounding) : Json(nullptr)},
                    {"compared", compared_json(v.compared)},
                    {"not_compared", {{"gradients", c.gradients_left_out}, {"parameters", c.parameters_left_out}}},
                    {"bare", figures_json(v.bare)},
                    {v.second(), figures_json(v.rewritten)},
                    {"step_time", time_json(time_ratio(v))},
                    {"patch", v.patch ? patch_json(*v.patch) : Json(nullptr)},
                    {"applied", std::move(applied)},
                    {"skipped", std::move(skipped)},
                    {"why_nothing_applied", or_null(v.why_nothing_applied)}};
  // Names come from the program and need not be UTF-8.
  return text::dumped(all);
}

trace::Result<Verdict> read_verdict(std::string_view json, std::string_view name) {
  try {
    return verdict_of(text::parse_bounded<Json>(json));
  } catch (const Json::exception&) {
    return trace::Error{std::string(name) + " is not a result of tapelens verify --format json."};
  }
}

}  // namespace tapelens::verify
