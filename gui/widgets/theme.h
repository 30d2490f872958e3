// Colors, patterns and sizes in one place: light and dark, and readable without color.
#pragma once

#include <QColor>
#include <QFont>
#include <QFontMetrics>
#include <QPalette>
#include <QString>
#include <cstdint>
#include <string_view>

#include "analyzer/advise/advice.h"
#include "analyzer/compare/growth.h"
#include "analyzer/peak/holders.h"

namespace tapelens::gui {

struct Theme {
  bool is_dark = false;
  QColor window, surface, raised, line, grid;  // from back to front; line: borders, grid: fainter
  QColor text, faint;                          // both WCAG AA on window, surface and raised
  QColor accent, accent_text, selection;       // accent: marks and links; accent_text: on an accent background
  QColor peak, what_if;                        // mark of the peak; curve without the ticked findings
  QColor reserved;                             // line of the device allocator's reserved bytes
  QColor error, warning, info;                 // severities, as text on surface
  QColor added, removed;                       // backgrounds of diff lines

  QColor category(peak::HolderKind kind) const;
  QColor ink(peak::HolderKind kind) const;  // color of the pattern on that kind's color
  QColor group(size_t place) const;         // groups by rank; from kGroupColors on: the rest
  QColor growth(compare::Growth growth) const;
  QColor phase(model::Phase phase) const;
  QColor name(std::string_view named) const;  // color of a module, operator or node; equal names have equal colors
  QColor severity(check::Severity severity) const;

  static constexpr size_t kGroupColors = 9;
  static Theme light();
  static Theme dark();
};

// The application's theme, which follows the system's palette. Widgets repaint on QEvent::PaletteChange.
const Theme& theme();
enum class Scheme : uint8_t { system, light, dark };
void set_scheme(Scheme scheme);  // also sets the application's palette and style sheet

// Black or white: the one with more contrast to the background.
QColor text_on(const QColor& ground);
double contrast(const QColor& a, const QColor& b);  // WCAG 2: 1 to 21

inline constexpr int kGap = 8;      // between things, in device independent pixels
inline constexpr int kMargin = 12;  // around a page
QFont small_font();                 // captions and axes: at least 11 pixels
QFont mono_font();
QFont title_font();  // headline of a page

// As much of a label as fits, cut at its end; empty if only three letters would remain.
QString fitted(const QFontMetrics& metrics, const QString& label, int width);
// As much of a path of modules as fits, cut at a dot from the left: "….attention.self". Its last part is never cut.
QString fitted_path(const QFontMetrics& metrics, const QString& path, int width);

// "saved for backward", "parameters": the label in `tapelens report`.
QString category_label(peak::HolderKind kind);

}  // namespace tapelens::gui
