#include <QFileInfo>
#include <QGuiApplication>
#include <QImage>
#include <QPainter>
#include <QSvgGenerator>
#include <algorithm>

#include "analyzer/report/advice_text.h"
#include "analyzer/report/findings_text.h"
#include "analyzer/report/next_commands.h"
#include "analyzer/text/format.h"
#include "gui/app/exports.h"
#include "gui/models/facts.h"
#include "gui/models/findings_tree.h"
#include "gui/models/visible_text.h"
#include "gui/models/whatif.h"
#include "gui/widgets/before_after.h"
#include "gui/widgets/theme.h"

namespace tapelens::gui {

namespace {

constexpr int kEdge = 44, kRatio = 2;
constexpr int kTitle = 46, kText = 21, kSmall = 17;  // heights of letters in pixels
constexpr int kFixes = 4;
constexpr int kFixLine = 31;

QFont letters(int pixels, QFont::Weight weight = QFont::Normal) {
  QFont font = QGuiApplication::font();
  font.setPixelSize(pixels);
  font.setWeight(weight);
  return font;
}

// Removes the folders of this machine: "/home/me/.venv/bin/python train.py" becomes "python train.py".
QString command_words(const QString& command) {
  QStringList words = command.split(' ', Qt::SkipEmptyParts);
  for (QString& word : words) {
    if (word.startsWith('/')) word = word.section('/', -1);
  }
  return words.join(' ');
}

struct Fix {
  QString place, title, change;
};

struct Contents {
  WhatIfResult without;
  std::vector<Fix> fixes;
  size_t left_out = 0;  // number of fixes that do not fit
};

Contents contents_of(const Subject& subject, const QSet<QString>& ticked) {
  const advise::Advice& advice = subject.advised->advice;
  QSet<QString> fixed = ticked;
  if (ticked.isEmpty()) {
    for (const advise::Finding& finding : advice.findings) {
      if (finding.is_in_all) fixed.insert(visible(finding.id));
    }
  }
  Contents out{what_if(subject, fixed), {}, 0};
  for (const advise::Entry& entry : advice.entries) {
    const auto is_fixed = [&](uint32_t at) { return fixed.contains(visible(advice.findings[at].id)); };
    if (std::ranges::none_of(entry.findings, is_fixed)) continue;
    if (ticked.isEmpty() && entry.change() <= Bytes{}) continue;
    if (out.fixes.size() == kFixes) {
      ++out.left_out;
      continue;
    }
    const advise::Finding& first = advice.findings[entry.findings.front()];
    const bool is_automatic = entry.kind == advise::Entry::Kind::automatic;
    const QString place = is_automatic ? "tapelens run " + visible(report::applying_text(advice, entry))
                                       : visible(report::source_text(first.source));
    // The change of an entry is known only with all entries before it fixed, not for any selection.
    out.fixes.push_back({place, visible(report::entry_title(advice, entry)),
                         ticked.isEmpty() ? signed_bytes(Bytes{} - entry.change()) : QString()});
  }
  return out;
}

// "814.4 MiB → 291.4 MiB  −64 %"
void paint_numbers(QPainter& p, const WhatIfResult& without, int baseline) {
  int x = kEdge;
  const auto add = [&](const QString& text, const QColor& color, const QFont& font) {
    p.setFont(font);
    p.setPen(color);
    p.drawText(x, baseline, text);
    x += p.fontMetrics().horizontalAdvance(text);
  };
  const QFont large = letters(kTitle, QFont::Bold);
  add(bytes_words(without.before), theme().text, large);
  if (without.after >= without.before) {
    add(QObject::tr("  at the peak"), theme().faint, letters(kText));
    return;
  }
  add(QString::fromUtf8("  →  "), theme().faint, large);
  add(bytes_words(without.after), theme().what_if, large);
  add(QString::fromUtf8("   −") + visible(text::percent_text(without.before - without.after, without.before)),
      theme().what_if, letters(kTitle * 2 / 3, QFont::DemiBold));
}

void paint_fixes(QPainter& p, const Contents& contents, int top) {
  const int right = kCardSize.width() - kEdge;
  int y = top;
  for (const Fix& fix : contents.fixes) {
    p.setFont(letters(kText, QFont::DemiBold));
    const int wide = p.fontMetrics().horizontalAdvance(QString::fromUtf8("−1023.9 MiB")) + kGap;
    p.setPen(theme().what_if);
    p.drawText(QRect(right - wide, y, wide, kFixLine), Qt::AlignRight | Qt::AlignVCenter, fix.change);
    int x = kEdge;
    if (!fix.place.isEmpty()) {
      const QString place = p.fontMetrics().elidedText(fix.place, Qt::ElideRight, (right - kEdge) / 3);
      p.setPen(theme().text);
      p.drawText(QRect(x, y, right - x, kFixLine), Qt::AlignLeft | Qt::AlignVCenter, place);
      x += p.fontMetrics().horizontalAdvance(place) + 2 * kGap;
    }
    p.setFont(letters(kText));
    p.setPen(theme().faint);
    const QRect rest(x, y, right - wide - x, kFixLine);
    p.drawText(rest, Qt::AlignLeft | Qt::AlignVCenter,
               p.fontMetrics().elidedText(fix.title, Qt::ElideRight, rest.width()));
    y += kFixLine;
  }
  if (contents.left_out == 0) return;
  p.setFont(letters(kSmall));
  p.setPen(theme().faint);
  p.drawText(QRect(kEdge, y, right - kEdge, kFixLine), Qt::AlignLeft | Qt::AlignVCenter,
             QObject::tr("and %1").arg(visible(text::plural(contents.left_out, "more", "more"))));
}

}  // namespace

void paint_card(QPainter& p, const Document& document, const Subject& subject, const QSet<QString>& ticked) {
  const Contents contents = contents_of(subject, ticked);
  const QRect whole(QPoint(0, 0), kCardSize);
  p.setRenderHint(QPainter::Antialiasing);
  p.fillRect(whole, theme().surface);
  const int right = whole.width() - kEdge;

  p.setFont(letters(kText));
  p.setPen(theme().faint);
  const DocumentFacts& facts = document.facts();
  QStringList about{facts.command.isEmpty() ? QFileInfo(facts.path).completeBaseName() : command_words(facts.command),
                    subject.name};
  if (!facts.torch_version.isEmpty()) about.append(QObject::tr("PyTorch %1").arg(facts.torch_version));
  if (!facts.simulated.isEmpty()) about.append(QObject::tr("simulated GPU"));
  p.drawText(QRect(kEdge, kEdge - 8, right - kEdge, kText + kGap), Qt::AlignLeft | Qt::AlignVCenter,
             p.fontMetrics().elidedText(about.join(QString::fromUtf8(" · ")), Qt::ElideRight, right - kEdge));
  paint_numbers(p, contents.without, kEdge + kText + kTitle + kGap);

  const int lines = static_cast<int>(contents.fixes.size()) + (contents.left_out > 0 ? 1 : 0);
  const int foot = whole.bottom() - kEdge + 12, fixes_top = foot - kSmall - 2 * kGap - lines * kFixLine;
  p.setFont(letters(kSmall));
  const QRectF around(kEdge, kEdge + kText + kTitle + 4 * kGap, right - kEdge,
                      fixes_top - 2 * kGap - (kEdge + kText + kTitle + 4 * kGap));
  const QRectF area = around.marginsRemoved(BeforeAfter::margins(p.fontMetrics()));
  const bool is_less = contents.without.after < contents.without.before;
  const BeforeAfter curve(subject, document.facts().duration, is_less ? &contents.without : nullptr,
                          static_cast<int>(area.width()) * kRatio);
  curve.paint(p, area, QObject::tr("with the fixes below, predicted from the recording"));
  paint_fixes(p, contents, fixes_top);

  p.setFont(letters(kSmall, QFont::DemiBold));
  p.setPen(theme().faint);
  p.drawText(QRect(kEdge, foot - kSmall, right - kEdge, kSmall + kGap), Qt::AlignRight | Qt::AlignVCenter,
             QStringLiteral("Tapelens"));
}

trace::Status export_card(const Document& document, const Subject& subject, const QSet<QString>& ticked,
                          const QString& path, const Saving& saving) {
  const QString ending = QFileInfo(path).suffix().toLower();
  if (ending == "png") {
    QImage image(kCardSize * kRatio, QImage::Format_RGB32);
    image.setDevicePixelRatio(kRatio);
    QPainter painter(&image);
    paint_card(painter, document, subject, ticked);
    painter.end();
    return save_png(path, saving, std::move(image));
  }
  if (ending == "svg") {
    return save_file(path, picture_kind(ending), saving, [&](QIODevice& file) {
      QSvgGenerator svg;
      svg.setOutputDevice(&file);
      svg.setSize(kCardSize);
      svg.setViewBox(QRect(QPoint(0, 0), kCardSize));
      svg.setTitle("Tapelens");
      QPainter painter;
      if (!painter.begin(&svg)) return false;
      paint_card(painter, document, subject, ticked);
      return painter.end();
    });
  }
  return failure(QString("%1: a card's name ends with .png or .svg").arg(path));
}

}  // namespace tapelens::gui
