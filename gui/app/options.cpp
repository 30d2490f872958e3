#include "gui/app/options.h"

#include <array>

namespace tapelens::gui {

namespace {

constexpr std::array<const char*, 5> kPages = {"timeline", "peak", "advice", "steps", "compare"};
constexpr std::array<const char*, 3> kSchemes = {"system", "light", "dark"};
constexpr int kMostPixels = 16384;

template <size_t N>
QString joined(const std::array<const char*, N>& words) {
  QString all;
  for (const char* word : words) all += (all.isEmpty() ? "" : ", ") + QString::fromUtf8(word);
  return all;
}

template <size_t N>
int place_of(const std::array<const char*, N>& words, const QString& wanted) {
  for (size_t i = 0; i < N; ++i) {
    if (wanted == QLatin1StringView(words[i])) return static_cast<int>(i);
  }
  return -1;
}

std::optional<QSize> size_of(const QString& text) {
  const QStringList parts = text.split('x');
  if (parts.size() != 2) return std::nullopt;
  bool is_width = false, is_height = false;
  const QSize size(parts[0].toInt(&is_width), parts[1].toInt(&is_height));
  const bool fits =
      size.width() > 0 && size.height() > 0 && size.width() <= kMostPixels && size.height() <= kMostPixels;
  return is_width && is_height && fits ? std::optional(size) : std::nullopt;
}

// Sets an option from its value; the problem, if it is none.
QString take(WindowOptions& options, const QString& name, const QString& value) {
  if (name == "--page") {
    const int page = place_of(kPages, value);
    if (page < 0) return QString("--page: '%1' is no page: %2").arg(value, joined(kPages));
    options.page = static_cast<PageId>(page);
  } else if (name == "--at") {
    options.at = report::parse_at(value.toStdString());
    if (!options.at) return QString("--at: '%1' is no moment: peak, step:N, or a time like 1.5s").arg(value);
  } else if (name == "--screenshot") {
    options.screenshot = value;
  } else if (name == "--size") {
    options.size = size_of(value);
    if (!options.size) return QString("--size: '%1' is no size, like 1280x720").arg(value);
  } else {
    const int scheme = place_of(kSchemes, value);
    if (scheme < 0) return QString("--scheme: '%1' is none: %2").arg(value, joined(kSchemes));
    options.scheme = static_cast<Scheme>(scheme);
  }
  return {};
}

}  // namespace

ParsedOptions parse_options(const QStringList& arguments) {
  ParsedOptions out;
  const QStringList with_value = {"--page", "--at", "--screenshot", "--size", "--scheme"};
  bool only_files = false;
  for (qsizetype i = 0; i < arguments.size(); ++i) {
    const QString& word = arguments[i];
    if (only_files || !word.startsWith('-')) {
      QString& file = out.options.file.isEmpty() ? out.options.file : out.options.other;
      if (!file.isEmpty()) out.problem = QString("'%1' is a third file: one to open, one to compare with").arg(word);
      file = word;
    } else if (word == "--") {
      only_files = true;
    } else if (word == "--help" || word == "-h") {
      out.options.wants_help = true;
    } else if (word == "--version") {
      out.options.wants_version = true;
    } else {
      const QString name = word.section('=', 0, 0);
      if (!with_value.contains(name)) {
        out.problem = QString("there is no option '%1': see --help").arg(name);
      } else if (!word.contains('=') && i + 1 == arguments.size()) {
        out.problem = QString("%1 needs a value").arg(name);
      } else {
        out.problem = take(out.options, name, word.contains('=') ? word.section('=', 1) : arguments[++i]);
      }
    }
    if (!out.problem.isEmpty()) return out;
  }
  const WindowOptions& o = out.options;
  if (o.file.isEmpty() && (o.at || !o.screenshot.isEmpty())) {
    out.problem = QString("%1 needs a FILE").arg(o.at ? "--at" : "--screenshot");
  }
  return out;
}

QString help_text() {
  return R"(Usage: tapelens-gui [OPTIONS] [FILE] [OTHER]

Shows a recording of `tapelens record`: what held the peak, and what to do about it.

  FILE                  The recording
  OTHER                 A second one, to compare with

Options:
  --page PAGE           Begin with: timeline, peak, advice, steps, compare
  --at MOMENT           Look at: peak, step:N (the peak of a step), 1.5s, 250ms, 1234ns
  --screenshot PATH     Write a picture of the window (PNG) and end; needs no display
  --size WxH            Of the window, like 1280x720
  --scheme SCHEME       Colors: system, light, dark; those chosen last if not given
  --help, --version

Examples:
  tapelens-gui run.tapelens
  tapelens-gui run.tapelens --page advice
  tapelens-gui before.tapelens after.tapelens --page compare
  tapelens-gui run.tapelens --page peak --at step:2 --screenshot peak.png --size 1920x1080

Exit codes: 0 fine, 2 wrong usage, 3 a file cannot be read or written. More: docs/gui.md
)";
}

}  // namespace tapelens::gui
