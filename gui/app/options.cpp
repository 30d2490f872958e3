#include "gui/app/options.h"

#include <QCommandLineParser>
#include <algorithm>
#include <iterator>

#include "gui/models/visible_text.h"

namespace tapelens::gui {

namespace {

constexpr const char* kSchemes[] = {"system", "light", "dark"};
constexpr int kMostPixels = 16384;

template <class Words>
QString joined(const Words& words) {
  QStringList all;
  for (const char* word : words) all << QString::fromUtf8(word);
  return all.join(", ");
}

// The enum value at the index of a word in a list; none if the list does not contain it.
template <class Enum, class Words>
std::optional<Enum> among(const Words& words, const QString& wanted) {
  const auto at = std::ranges::find_if(words, [&](const char* word) { return wanted == QLatin1StringView(word); });
  return at == std::end(words) ? std::nullopt : std::optional(static_cast<Enum>(at - std::begin(words)));
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

struct Option {
  const char* name;
  const char* value;  // name of the value in --help
  QString help;
  QString wanted;  // error message for an invalid value
  bool (*take)(WindowOptions&, const QString&);
};

const std::vector<Option>& options_with_values() {
  static const std::vector<Option> all = {
      {"page", "PAGE", "First page: " + joined(kPageNames), "is not a page: use " + joined(kPageNames),
       [](WindowOptions& o, const QString& value) { return (o.page = among<PageId>(kPageNames, value)).has_value(); }},
      {"device", "NAME", "Select a device, like cuda:0; by default a GPU before the CPU", "is not a device",
       [](WindowOptions& o, const QString& value) {
         o.device = value;
         return !value.isEmpty();
       }},
      {"at", "MOMENT", "Select a moment: peak, step:N (its peak), oom, oom:N, 1.5s, 250ms, 1234ns",
       "is not a moment: use peak, step:N, oom, oom:N, or a time like 1.5s",
       [](WindowOptions& o, const QString& value) {
         return (o.at = report::parse_at(value.toStdString())).has_value();
       }},
      {"screenshot",
       "PATH",
       "Write a picture of the window (PNG) and exit; needs no display",
       {},
       [](WindowOptions& o, const QString& value) {
         o.screenshot = value;
         return true;
       }},
      {"export-card", "PATH", "Write one picture to share (PNG, SVG) and exit; needs no display",
       "is not the name of a card: use a name that ends with .png or .svg",
       [](WindowOptions& o, const QString& value) {
         o.card = value;
         return value.endsWith(".png", Qt::CaseInsensitive) || value.endsWith(".svg", Qt::CaseInsensitive);
       }},
      {"size", "WxH", "Size of the window, like 1280x720", "is not the size of a window, like 1280x720",
       [](WindowOptions& o, const QString& value) { return (o.size = size_of(value)).has_value(); }},
      {"scheme", "SCHEME", "Colors: " + joined(kSchemes) + "; by default the last choice",
       "is not a scheme: use " + joined(kSchemes),
       [](WindowOptions& o, const QString& value) { return (o.scheme = among<Scheme>(kSchemes, value)).has_value(); }},
  };
  return all;
}

// The error for arguments that the parser cannot read.
QString problem_of(const QCommandLineParser& parser, const QStringList& arguments) {
  if (const QStringList unknown = parser.unknownOptionNames(); !unknown.isEmpty()) {
    const QString& name = unknown.first();
    return QString("unknown option '%1%2': see --help").arg(name.size() == 1 ? "-" : "--", name);
  }
  for (const Option& option : options_with_values()) {
    if (arguments.last() == QString("--") + option.name) return arguments.last() + " needs a value";
  }
  return parser.errorText();
}

}  // namespace

trace::Result<WindowOptions> parse_options(const QStringList& arguments) {
  QCommandLineParser parser;
  const QCommandLineOption help(QStringList{"h", "help"}), version("version"), force("force");
  parser.addOptions({help, version, force});
  for (const Option& option : options_with_values()) {
    parser.addOption({QString(option.name), QString(), QString(option.value)});
  }
  // The parser expects the program's name first.
  if (!parser.parse(QStringList("tapelens-gui") + arguments)) return failure(problem_of(parser, arguments));

  WindowOptions options;
  options.wants_help = parser.isSet(help);
  options.is_forced = parser.isSet(force);
  options.wants_version = parser.isSet(version);
  for (const Option& option : options_with_values()) {
    if (!parser.isSet(option.name)) continue;
    const QString value = parser.value(option.name);
    if (!option.take(options, value)) return failure(QString("--%1: '%2' %3").arg(option.name, value, option.wanted));
  }
  const QStringList files = parser.positionalArguments();
  if (files.size() > 2) return failure(QString("'%1' is a third file: one to open, one to compare with").arg(files[2]));
  options.file = files.value(0);
  options.other = files.value(1);
  if (options.file.isEmpty() && (options.at || !options.device.isEmpty() || options.is_headless())) {
    return failure(QString("%1 needs a FILE")
                       .arg(options.at                      ? "--at"
                            : !options.device.isEmpty()     ? "--device"
                            : !options.screenshot.isEmpty() ? "--screenshot"
                                                            : "--export-card"));
  }
  return options;
}

QString help_text() {
  QString text = R"(Usage: tapelens-gui [OPTIONS] [FILE] [OTHER]

Shows a recording: the memory at the peak, its holders, and how to lower the peak.

  FILE                  The recording, or FILE.spool while a program is recorded
  OTHER                 A second one, to compare with

Options:
)";
  for (const Option& option : options_with_values()) {
    text += QString("  --%1 %2").arg(option.name, option.value).leftJustified(24) + option.help + '\n';
  }
  return text + R"(  --force               Let a picture replace a file that Tapelens did not write
  --help, --version

Examples:
  tapelens-gui run.tapelens
  tapelens-gui run.tapelens --page advice
  tapelens-gui run.tapelens.spool
  tapelens-gui run.tapelens --device cuda:1 --page segments --at oom
  tapelens-gui before.tapelens after.tapelens --page compare
  tapelens-gui run.tapelens --page peak --at step:2 --screenshot peak.png --size 1920x1080
  tapelens-gui run.tapelens --export-card card.png --scheme dark

Exit codes: 0 fine, 2 wrong usage, 3 a file cannot be read or written. More: tapelens man view
)";
}

}  // namespace tapelens::gui
