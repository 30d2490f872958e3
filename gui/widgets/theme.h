// Colours, patterns and sizes: one place, light and dark, legible without colour.
#pragma once

#include <QColor>
#include <QFont>
#include <QFontMetrics>
#include <QPalette>
#include <QString>
#include <cstdint>
#include <string_view>

#include "analyzer/advise/advice.h"
#include "analyzer/peak/holders.h"

namespace tapelens::gui {

struct Theme {
  bool is_dark = false;
  QColor window, surface, raised, line, grid;  // from behind to front; line: borders, grid: fainter
  QColor text, faint;                          // both WCAG AA on window, surface and raised
  QColor accent, accent_text, selection;       // accent: marks and links; accent_text: on a ground of accent
  QColor peak, what_if;                        // the peak's mark; the curve without what is ticked
  QColor reserved;                             // the line of what a device's allocator has of it
  QColor error, warning, info;                 // severities, as text on surface
  QColor added, removed;                       // grounds of lines of a diff

  QColor category(peak::HolderKind kind) const;
  QColor ink(peak::HolderKind kind) const;  // of the pattern on that ground
  QColor group(size_t place) const;         // a grouping's groups by rank; from kGroupColors on: that of the rest
  QColor phase(model::Phase phase) const;
  QColor name(std::string_view named) const;  // of a module, an operator, a node: the same name, the same colour
  QColor severity(check::Severity severity) const;

  static constexpr size_t kGroupColors = 9;
  static Theme light();
  static Theme dark();
};

// Of the application, following the system's palette. Widgets repaint on QEvent::PaletteChange.
const Theme& theme();
enum class Scheme : uint8_t { system, light, dark };
void set_scheme(Scheme scheme);  // also the application's palette and style sheet

// Black or white, whichever is easier to read on a ground.
QColor text_on(const QColor& ground);
double contrast(const QColor& a, const QColor& b);  // WCAG 2: 1 to 21

inline constexpr int kGap = 8;      // between things, in device independent pixels
inline constexpr int kMargin = 12;  // around a page
QFont small_font();                 // captions and axes: at least 11 pixels
QFont mono_font();
QFont title_font();  // headline of a page

// As much of a label as there is room for, cut at its end; empty rather than three letters that say nothing.
QString fitted(const QFontMetrics& metrics, const QString& label, int width);

// "saved for backward", "parameters": as `tapelens report` says it.
QString category_label(peak::HolderKind kind);

}  // namespace tapelens::gui
