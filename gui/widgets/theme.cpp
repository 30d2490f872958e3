#include "gui/widgets/theme.h"

#include <QApplication>
#include <QFontDatabase>
#include <QGuiApplication>
#include <QPalette>
#include <QStyle>
#include <QStyleFactory>
#include <QStyleHints>
#include <array>
#include <cmath>

#include "analyzer/report/categories.h"

namespace tapelens::gui {

namespace {

Theme& current() {
  static Theme now = Theme::light();
  return now;
}

// Paul Tol's muted scheme, ordered so that neighbors differ, and a gray for the rest.
constexpr std::array<QRgb, Theme::kGroupColors + 1> kGroupsLight = {0xff4477aa, 0xffcc6677, 0xffddcc77, 0xff117733,
                                                                    0xff88ccee, 0xff882255, 0xff44aa99, 0xff999933,
                                                                    0xffaa4499, 0xffb9bec6};
constexpr std::array<QRgb, Theme::kGroupColors + 1> kGroupsDark = {0xff6699cc, 0xffdd7788, 0xffddcc77, 0xff3d9957,
                                                                   0xff88ccee, 0xffb0558a, 0xff4fb8a6, 0xffabab4a,
                                                                   0xffc06bb4, 0xff6d747e};

double channel(double value) { return value <= 0.03928 ? value / 12.92 : std::pow((value + 0.055) / 1.055, 2.4); }
double luminance(const QColor& c) {
  return 0.2126 * channel(c.redF()) + 0.7152 * channel(c.greenF()) + 0.0722 * channel(c.blueF());
}

QPalette palette_of(const Theme& t) {
  QPalette p;
  p.setColor(QPalette::Window, t.window);
  p.setColor(QPalette::WindowText, t.text);
  p.setColor(QPalette::Base, t.surface);
  p.setColor(QPalette::AlternateBase, t.window);
  p.setColor(QPalette::Text, t.text);
  p.setColor(QPalette::PlaceholderText, t.faint);
  p.setColor(QPalette::Button, t.raised);
  p.setColor(QPalette::ButtonText, t.text);
  p.setColor(QPalette::ToolTipBase, t.raised);
  p.setColor(QPalette::ToolTipText, t.text);
  p.setColor(QPalette::Highlight, t.selection);
  p.setColor(QPalette::HighlightedText, t.text);
  p.setColor(QPalette::Link, t.accent);
  p.setColor(QPalette::Mid, t.line);
  p.setColor(QPalette::Dark, t.line);
  p.setColor(QPalette::Light, t.raised);
  p.setColor(QPalette::Midlight, t.grid);
  p.setColor(QPalette::Shadow, t.line);
  for (const QPalette::ColorRole role : {QPalette::Text, QPalette::WindowText, QPalette::ButtonText})
    p.setColor(QPalette::Disabled, role, t.faint);
  return p;
}

QString sheet_of(const Theme& t) {
  return QString(R"(
QToolTip { background: %1; color: %2; border: 1px solid %3; padding: 4px; }
QTableView, QTreeView, QListView, QPlainTextEdit, QTextBrowser { border: 1px solid %3; background: %4; }
QHeaderView::section { background: %5; color: %6; border: 0; border-bottom: 1px solid %3; padding: 4px 6px; }
QTableView::item { border: 0; padding: 2px 3px; }
QTreeView::item { border: 0; padding: 3px; }
QTreeView::item:selected { background: %8; }
QTableView, QTreeView { outline: 0; }
QTableView:focus, QTreeView:focus { border-color: %7; }
QLineEdit { border: 1px solid %3; border-radius: 4px; padding: 3px 6px; background: %4; }
QLineEdit:focus { border-color: %7; }
QPushButton, QToolButton { border: 1px solid %3; border-radius: 4px; padding: 3px 10px; background: %1; }
QToolButton { padding: 3px 6px; }
QPushButton:hover, QToolButton:hover { border-color: %7; }
QPushButton:focus, QToolButton:focus { border-color: %7; }
QPushButton:checked, QToolButton:checked { background: %8; border-color: %7; }
QPushButton:disabled, QToolButton:disabled { color: %6; }
QSplitter::handle { background: %5; }
)")
      .arg(t.raised.name(), t.text.name(), t.line.name(), t.surface.name(), t.window.name(), t.faint.name(),
           t.accent.name(), t.selection.name());
}

bool system_is_dark() {
  static const bool dark = [] {
    const QPalette palette = QGuiApplication::palette();
    return luminance(palette.color(QPalette::Window)) < luminance(palette.color(QPalette::WindowText));
  }();
  return dark;
}

QFont scaled(double factor) {
  QFont font = QGuiApplication::font();
  font.setPointSizeF(font.pointSizeF() * factor);
  return font;
}

}  // namespace

Theme Theme::light() {
  Theme t;
  t.window = 0xfff3f4f6;
  t.surface = 0xffffffff;
  t.raised = 0xffffffff;
  t.line = 0xffcdd2d9;
  t.grid = 0xffe6e9ed;
  t.text = 0xff1c2128;
  t.faint = 0xff59636e;
  t.accent = 0xff0b5cad;
  t.accent_text = 0xffffffff;
  t.selection = 0xffd3e5f8;
  t.peak = 0xffb3261e;
  t.what_if = 0xff0f6e4f;
  t.reserved = 0xff7a35a8;
  t.error = 0xffb3261e;
  t.warning = 0xff8a5200;
  t.info = 0xff0b5cad;
  t.added = 0xffdcf3e0;
  t.removed = 0xfffbe1de;
  return t;
}

Theme Theme::dark() {
  Theme t;
  t.is_dark = true;
  t.window = 0xff16191d;
  t.surface = 0xff1d2126;
  t.raised = 0xff282d34;
  t.line = 0xff3d444d;
  t.grid = 0xff2a2f36;
  t.text = 0xffe6e9ed;
  t.faint = 0xffa3adb8;
  t.accent = 0xff6cb2ff;
  t.accent_text = 0xff10151b;
  t.selection = 0xff203f61;
  t.peak = 0xffff8a80;
  t.what_if = 0xff6fdcb4;
  t.reserved = 0xffcf9bff;
  t.error = 0xffff8a80;
  t.warning = 0xfff0b53c;
  t.info = 0xff6cb2ff;
  t.added = 0xff173d26;
  t.removed = 0xff4a2022;
  return t;
}

QColor Theme::category(peak::HolderKind kind) const {
  const auto& roles = is_dark ? report::kRolesOnDark : report::kRolesOnLight;
  return QColor(QRgb{0xff000000 | roles[static_cast<size_t>(kind)]});
}

QColor Theme::ink(peak::HolderKind kind) const {
  const QColor ground = category(kind);
  // The allocator's color is almost black or white, so its pattern has the opposite brightness.
  if (kind == peak::HolderKind::allocator) return is_dark ? ground.darker(190) : ground.lighter(280);
  return is_dark ? ground.lighter(130) : ground.darker(118);
}

QColor Theme::group(size_t place) const {
  return QColor((is_dark ? kGroupsDark : kGroupsLight)[std::min(place, kGroupColors)]);
}

QColor Theme::growth(compare::Growth growth) const {
  const auto& colors = is_dark ? compare::kGrowthOnDark : compare::kGrowthOnLight;
  return {QRgb{0xff000000U | colors[static_cast<size_t>(growth)]}};
}

QColor Theme::phase(model::Phase phase) const {
  switch (phase) {
    case model::Phase::forward:
      return QColor(is_dark ? 0xff2f5f8f : 0xffbcd9f5);
    case model::Phase::backward:
      return QColor(is_dark ? 0xff7d5326 : 0xfff7d9b0);
    case model::Phase::optimizer:
      return QColor(is_dark ? 0xff5f4672 : 0xffe0cfee);
    case model::Phase::evaluation:
      return QColor(is_dark ? 0xff3f6b4f : 0xffcbe8d2);
    case model::Phase::other:
      break;
  }
  return grid;
}

QColor Theme::name(std::string_view named) const {
  uint32_t hash = 2166136261U;
  for (const char c : named) hash = (hash ^ static_cast<uint8_t>(c)) * 16777619U;
  hash ^= hash >> 15;
  // Hues around the whole circle, in three shades on which text is readable.
  const int hue = static_cast<int>(hash % 360);
  const int shade = static_cast<int>(hash / 360 % 3);
  // In the dark theme also visible on the surface: their contrast to it is at least 3.
  return is_dark ? QColor::fromHsl(hue, 70, 154 + 10 * shade) : QColor::fromHsl(hue, 105, 196 + 10 * shade);
}

QColor Theme::severity(check::Severity severity) const {
  switch (severity) {
    case check::Severity::error:
      return error;
    case check::Severity::warning:
      return warning;
    case check::Severity::info:
      break;
  }
  return info;
}

const Theme& theme() { return current(); }

void set_scheme(Scheme scheme) {
  const bool dark = scheme == Scheme::dark || (scheme == Scheme::system && system_is_dark());
  current() = dark ? Theme::dark() : Theme::light();
  QApplication::setStyle(QStyleFactory::create("Fusion"));
  QApplication::setPalette(palette_of(current()));
  qApp->setStyleSheet(sheet_of(current()));
}

double contrast(const QColor& a, const QColor& b) {
  const double x = luminance(a), y = luminance(b);
  return (std::max(x, y) + 0.05) / (std::min(x, y) + 0.05);
}

QColor text_on(const QColor& ground) {
  const QColor black(0xff10151b), white(0xffffffff);
  return contrast(black, ground) >= contrast(white, ground) ? black : white;
}

QFont small_font() { return scaled(0.9); }

QFont mono_font() {
  QFont font = QFontDatabase::systemFont(QFontDatabase::FixedFont);
  font.setPointSizeF(QGuiApplication::font().pointSizeF() * 0.95);
  return font;
}

QFont title_font() {
  QFont font = scaled(1.3);
  font.setWeight(QFont::DemiBold);
  return font;
}

QString fitted_path(const QFontMetrics& metrics, const QString& path, int width) {
  QString shown = path;
  for (qsizetype dot = path.indexOf(QLatin1Char('.')); dot >= 0 && metrics.horizontalAdvance(shown) > width;
       dot = path.indexOf(QLatin1Char('.'), dot + 1)) {
    shown = QStringLiteral("…") + path.mid(dot);
  }
  return shown;
}

QString fitted(const QFontMetrics& metrics, const QString& label, int width) {
  constexpr qsizetype kLeast = 4;  // letters, including the ellipsis
  if (metrics.horizontalAdvance(label) <= width) return label;
  const QString cut = metrics.elidedText(label, Qt::ElideRight, width);
  return cut.size() < kLeast ? QString() : cut;
}

QString category_label(peak::HolderKind kind) { return QString::fromUtf8(report::label(kind)); }

}  // namespace tapelens::gui
