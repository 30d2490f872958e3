#include "gui/models/verify_result.h"

#include <QFile>
#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

#include "analyzer/report/format.h"
#include "gui/models/shown.h"

namespace tapelens::gui {

namespace {

using nlohmann::json;
using report::plural;

QString utf8(const std::string& text) { return visible(text); }

// A string, or nothing where the file has null.
QString word(const json& from, const char* key) {
  const json& value = from.at(key);
  return value.is_null() ? QString() : utf8(value.get<std::string>());
}

// A whole number from 0. Never by json::get, which makes one of whatever is a number.
int64_t whole(const json& value) {
  const uint64_t number = value.get_ref<const json::number_unsigned_t&>();
  if (number > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
    throw json::out_of_range::create(406, "a whole number out of range", &value);
  }
  return static_cast<int64_t>(number);
}

uint64_t count(const json& value) { return static_cast<uint64_t>(whole(value)); }

std::optional<int64_t> step_ns(const json& run) {
  const json& value = run.at("step_ns");
  return value.is_null() ? std::nullopt : std::optional(whole(value));
}

QString place_of(const json& site) {
  if (site.is_null()) return {};
  QString place = word(site, "node");
  const QString field = word(site, "field"), module = word(site, "module"), source = word(site, "source");
  if (!field.isEmpty()) place += "." + field;
  if (place.isEmpty()) place = word(site, "operator");
  if (!module.isEmpty()) place += " in " + module;
  return source.isEmpty() ? place : place + ", " + source;
}

VerifyResult::Difference difference_of(const json& from) {
  VerifyResult::Difference d;
  const QString kind = word(from, "kind"), parameter = word(from, "parameter");
  if (kind == "exit_code") {
    d.what = "exit code";
  } else {
    d.what =
        kind + (parameter.isEmpty() ? "" : " of " + parameter) + " in step " + QString::number(count(from.at("step")));
    if (!from.at("rank").is_null()) d.what += " of rank " + QString::number(whole(from.at("rank")));
  }
  d.bare = word(from, "bare");
  d.rewritten = word(from, "rewritten");
  d.rewrite = word(from, "rewrite");
  d.place = place_of(from.at("site"));
  return d;
}

VerifyResult::Rounding rounding_of(const json& from) {
  VerifyResult::Rounding rounding;
  rounding.unknown = word(from, "unknown");
  for (const json& gradient : from.at("gradients")) {
    // What is no number is larger than any.
    const auto larger = [&gradient](double& most, const char* key) {
      const json& value = gradient.at(key);
      most = std::max(most, value.is_null() ? std::numeric_limits<double>::infinity() : value.get<double>());
    };
    larger(rounding.difference, "difference");
    larger(rounding.bare_error, "bare_error");
    larger(rounding.rewritten_error, "rewritten_error");
  }
  return rounding;
}

VerifyResult result_of(const json& all) {
  VerifyResult r;
  r.is_identical = all.at("identical").get<bool>();
  r.is_deterministic = all.at("deterministic").get<bool>();
  const json& compared = all.at("compared");
  r.steps = count(compared.at("steps"));
  r.losses = count(compared.at("losses"));
  r.gradients = count(compared.at("gradients"));
  r.parameters = count(compared.at("parameters"));
  r.bare_peak.value = whole(all.at("bare").at("peak_bytes"));
  r.rewritten_peak.value = whole(all.at("rewritten").at("peak_bytes"));
  r.bare_step_ns = step_ns(all.at("bare"));
  r.rewritten_step_ns = step_ns(all.at("rewritten"));
  r.has_verdict = all.at("verdict").get<std::string>() != "none";
  if (!all.at("rounding").is_null()) r.rounding = rounding_of(all.at("rounding"));
  if (!all.at("first_difference").is_null()) r.difference = difference_of(all.at("first_difference"));
  return r;
}

QString or_none(const QString& value) { return value.isEmpty() ? "none" : value; }

}  // namespace

ReadVerifyResult read_verify_result(const QString& path) {
  QFile file(path);
  if (!file.open(QIODevice::ReadOnly)) return {{}, path + " cannot be read: " + file.errorString() + "."};
  const QByteArray text = file.readAll();
  try {
    const json all = json::parse(text.begin(), text.end());
    return {result_of(all), {}};
  } catch (const json::exception&) {
    return {{}, path + " is no result of tapelens verify --format json."};
  }
}

QString verdict_title(const VerifyResult& r) {
  if (r.is_identical) return "identical, bit for bit";
  if (!r.is_deterministic) return "not deterministic by itself";
  if (!r.has_verdict) return "no verdict";
  return r.rounding ? "not the same bits" : "different";
}

QString verdict_text(const VerifyResult& r) {
  const QString compared = utf8(plural(r.steps, "step", "steps") + ": " + plural(r.losses, "loss", "losses") + ", " +
                                plural(r.gradients, "gradient", "gradients") + ", " +
                                plural(r.parameters, "parameter", "parameters") + " after their step");
  if (!r.has_verdict && r.is_deterministic) {
    return "No gradient and no parameter could be compared. Compared were " + compared + ".";
  }
  if (r.is_identical || !r.difference) return "Compared were " + compared + ".";
  const VerifyResult::Difference& d = *r.difference;
  if (!r.is_deterministic) {
    return "Two bare runs differ first in the " + d.what +
           ". Nothing can be said of the rewrites: seed the program, or see torch.use_deterministic_algorithms.";
  }
  if (r.rounding) {
    const QString cause =
        "Rewrites that add in another order make the first difference, in the " + d.what + ", and all others. ";
    if (!r.rounding->unknown.isEmpty()) return cause + "How large they are is not known: " + r.rounding->unknown + ".";
    const auto figure = [](double value) { return QString::number(value, 'e', 1); };
    return cause + "In the first step no gradient differs by more than " + figure(r.rounding->difference) +
           " of its largest element. From float64 the bare program's are off by up to " +
           figure(r.rounding->bare_error) + ", the rewritten one's by up to " + figure(r.rounding->rewritten_error) +
           ".";
  }
  QString text =
      "First differs the " + d.what + ": " + or_none(d.bare) + " bare, " + or_none(d.rewritten) + " rewritten.";
  if (d.rewrite.isEmpty()) return text + " No single rewrite was found that it comes from.";
  text += " It comes from " + d.rewrite;
  return text + (d.place.isEmpty() ? ", at no single site that could be found." : " at " + d.place + ".");
}

QString verdict_effect(const VerifyResult& r) {
  const auto change = [](model::Bytes before, model::Bytes after) -> QString {
    if (before.value <= 0 || before == after) return "";
    return QString(" (%1%2)")
        .arg(after < before ? "\u2212" : "+")
        .arg(utf8(report::percent_text(after < before ? before - after : after - before, before)));
  };
  QString text = "Peak " + utf8(report::bytes_text(r.bare_peak)) + " \u2192 " +
                 utf8(report::bytes_text(r.rewritten_peak)) + change(r.bare_peak, r.rewritten_peak);
  if (r.bare_step_ns && r.rewritten_step_ns) {
    text += ", a step " + utf8(report::time_text(model::Time{*r.bare_step_ns})) + " \u2192 " +
            utf8(report::time_text(model::Time{*r.rewritten_step_ns}));
  }
  return text;
}

}  // namespace tapelens::gui
