#include "gui/timeline/inspector.h"

#include <QEvent>
#include <algorithm>

#include "gui/models/facts.h"
#include "gui/widgets/theme.h"

namespace tapelens::gui {

namespace {

constexpr size_t kMostListed = 100;

QString link(Time time) {
  return QString("<a href='time:%1'>%2</a>").arg(time.ns).arg(time_words(time).toHtmlEscaped());
}

QString fact(const QString& name, const QString& value) {
  if (value.isEmpty()) return {};
  return QString("<tr><td style='color:%1; padding-right:8px'>%2</td><td>%3</td></tr>")
      .arg(theme().faint.name(), name.toHtmlEscaped(), value);
}

QString heading(const QString& text) {
  return QString("<p style='margin-top:10px; margin-bottom:2px'><b>%1</b></p>").arg(text.toHtmlEscaped());
}

QString html_of(const AllocationFacts& f, Time duration, bool has_relations) {
  QString html = QString("<p style='margin-bottom:4px'><b>%1</b> &nbsp; %2</p><table cellspacing=0 cellpadding=1>")
                     .arg(bytes_words(f.bytes).toHtmlEscaped(), f.what.toHtmlEscaped());
  html += fact(QObject::tr("shape"), f.layout.toHtmlEscaped());
  html += fact(QObject::tr("made by"), f.op.toHtmlEscaped());
  html += fact(QObject::tr("module"), f.module.toHtmlEscaped());
  html += fact(QObject::tr("line"), f.source.toHtmlEscaped());
  html += fact(QObject::tr("born"), link(f.life.begin));
  html +=
      fact(QObject::tr("freed"), f.is_freed ? link(f.life.end) : QObject::tr("never, in %1").arg(time_words(duration)));
  html += fact(QObject::tr("lived"), time_words(Time{f.life.end.ns - f.life.begin.ns}).toHtmlEscaped());
  html += "</table>";
  if (!has_relations) return html + "<p>" + QObject::tr("Who saved and used it is being worked out.") + "</p>";

  html += heading(QObject::tr("Saved for the backward"));
  if (f.saves.empty()) html += "<p style='margin:0'>" + QObject::tr("by no node") + "</p>";
  html += "<table cellspacing=0 cellpadding=1>";
  for (size_t i = 0; i < std::min(f.saves.size(), kMostListed); ++i) {
    const auto& save = f.saves[i];
    html += QString("<tr><td style='padding-right:8px'>%1</td><td>%2 &rarr; %3</td></tr>")
                .arg(save.field.toHtmlEscaped(), link(save.time),
                     save.released == model::kNever ? QObject::tr("never released") : link(save.released));
  }
  html += "</table>";
  if (f.saves.size() > kMostListed) html += QObject::tr("and %1 more").arg(f.saves.size() - kMostListed);

  html += heading(QObject::tr("Used by"));
  if (f.uses.empty()) html += "<p style='margin:0'>" + QObject::tr("no operator") + "</p>";
  html += "<table cellspacing=0 cellpadding=1>";
  for (size_t i = 0; i < std::min(f.uses.size(), kMostListed); ++i) {
    const auto& use = f.uses[i];
    html += QString("<tr><td style='padding-right:8px'>%1</td><td>%2%3</td></tr>")
                .arg(use.op.toHtmlEscaped(), link(use.when.begin),
                     use.is_backward ? QObject::tr(" in the backward") : QString());
  }
  html += "</table>";
  if (f.uses.size() > kMostListed) html += QObject::tr("and %1 more").arg(f.uses.size() - kMostListed);
  return html;
}

}  // namespace

Inspector::Inspector(Session& session, QWidget* parent) : QTextBrowser(parent), session_(session) {
  setOpenLinks(false);
  setAccessibleName(tr("Selected allocation"));
  connect(this, &QTextBrowser::anchorClicked, this, [this](const QUrl& url) {
    if (url.scheme() == "time") Q_EMIT wanted(Time{url.path().toLongLong()});
  });
  connect(&session, &Session::opened, this, &Inspector::refresh);
  connect(&session, &Session::closed, this, &Inspector::refresh);
  connect(&session, &Session::viewChanged, this, [this](const View& before) {
    const View& now = session_.view();
    if (before.allocation != now.allocation || before.subject != now.subject) refresh();
  });
  connect(&session, &Session::made, this, [this](Part part) {
    if (part == Part::relations) refresh();
  });
  refresh();
}

void Inspector::refresh() {
  document()->setDefaultStyleSheet(QString("a { color: %1; text-decoration: none }").arg(theme().accent.name()));
  const AllocationId id = session_.view().allocation;
  if (session_.document() == nullptr || !id) {
    setHtml(QString("<p style='color:%1'>%2</p>")
                .arg(theme().faint.name(),
                     tr("Click a block: what it is, who kept it, who used it, and when the backward let it go.")));
    return;
  }
  const bool has_relations = session_.has(Part::relations);
  const auto facts = facts_of(*session_.document(), session_.subject(), id, has_relations, kMostListed + 1);
  setHtml(html_of(facts, session_.document()->facts().duration, has_relations));
}

void Inspector::changeEvent(QEvent* event) {
  if (event->type() == QEvent::PaletteChange) refresh();
  QTextBrowser::changeEvent(event);
}

}  // namespace tapelens::gui
