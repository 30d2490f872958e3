#include "gui/timeline/inspector.h"

#include <QEvent>
#include <algorithm>

#include "analyzer/model/text.h"
#include "analyzer/report/advice_text.h"
#include "analyzer/report/categories.h"
#include "analyzer/report/findings_text.h"
#include "analyzer/text/format.h"
#include "gui/models/facts.h"
#include "gui/models/findings_tree.h"
#include "gui/models/out_of_memory.h"
#include "gui/models/visible_text.h"
#include "gui/models/whatif.h"
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

// Allows line breaks in a long name: before dots, after colons and slashes.
QString breakable(const QString& name) {
  const QChar here(0x200b);
  return name.toHtmlEscaped()
      .replace(".", here + QString("."))
      .replace("::", "::" + QString(here))
      .replace("/", "/" + QString(here));
}

// The findings about the allocation, as links to the page of findings.
QString covered_by(const Subject& subject, AllocationId id) {
  if (!subject.advised) return {};
  QString html;
  for (const size_t at : findings_about(subject, id)) {
    const advise::Finding& finding = subject.advised->advice.findings[at];
    html += QString("<p style='margin:0 0 2px 0'><a href='finding:%1'>%2</a></p>")
                .arg(visible(finding.id), breakable(visible(finding.title)));
  }
  return html.isEmpty() ? html : heading(QObject::tr("Findings about it")) + html;
}

// The user's own frames are bold; those between them belong to PyTorch and Python.
QString stack_of(const AllocationFacts& f) {
  if (f.stack.empty()) return {};
  QString html = heading(QObject::tr("Stack, innermost frame first"));
  for (size_t i = 0; i < std::min(f.stack.size(), kMostListed); ++i) {
    const report::Frame& frame = f.stack[i];
    const QString words = breakable(visible(report::source_text(frame)));
    html += "<p style='margin:0'>" +
            (model::is_library_frame(frame.file, frame.function)
                 ? QString("<span style='color:%1'>%2</span>").arg(theme().faint.name(), words)
                 : "<b>" + words + "</b>") +
            "</p>";
  }
  if (f.stack.size() > kMostListed) html += QObject::tr("and %1 more").arg(f.stack.size() - kMostListed);
  return html;
}

QString html_of(const AllocationFacts& f, const Subject& subject, Time duration, bool has_relations) {
  QString html = QString("<p style='margin-bottom:4px'><b>%1</b> &nbsp; %2</p><table cellspacing=0 cellpadding=1>")
                     .arg(bytes_words(f.bytes).toHtmlEscaped(), breakable(f.what));
  html += fact(QObject::tr("shape"), f.layout.toHtmlEscaped());
  html += fact(QObject::tr("made by"), breakable(f.op));
  html += fact(QObject::tr("module"), breakable(f.module));
  html += fact(QObject::tr("line"), breakable(f.source));
  html += fact(QObject::tr("block"), f.block.toHtmlEscaped());
  html += fact(QObject::tr("born"), link(f.life.begin));
  html +=
      fact(QObject::tr("freed"), f.is_freed ? link(f.life.end) : QObject::tr("never, in %1").arg(time_words(duration)));
  html += fact(QObject::tr("lived"), time_words(Time{f.life.end.ns - f.life.begin.ns}).toHtmlEscaped());
  html += "</table>" + covered_by(subject, f.id) + stack_of(f);
  if (!has_relations) return html + "<p>" + QObject::tr("Computing its saves and uses\u2026") + "</p>";

  html += heading(QObject::tr("Saved for the backward"));
  if (f.saves.empty()) html += "<p style='margin:0'>" + QObject::tr("by no node") + "</p>";
  html += "<table cellspacing=0 cellpadding=1>";
  for (size_t i = 0; i < std::min(f.saves.size(), kMostListed); ++i) {
    const auto& save = f.saves[i];
    html += QString("<tr><td style='padding-right:8px'>%1</td><td>%2 &rarr; %3</td></tr>")
                .arg(breakable(save.field), link(save.time),
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
                .arg(breakable(use.op), link(use.when.begin),
                     use.is_backward ? QObject::tr(" in the backward") : QString());
  }
  html += "</table>";
  if (f.uses.size() > kMostListed) html += QObject::tr("and %1 more").arg(f.uses.size() - kMostListed);
  return html;
}

// The answers for the selected range.
QString range_of(const Interval& range, const RangeFacts* f) {
  QString html = QString("<p style='margin-bottom:4px'><b>%1</b></p>")
                     .arg(QObject::tr("Selected range: %1").arg(time_words(Time{range.end.ns - range.begin.ns})));
  html += "<table cellspacing=0 cellpadding=1>" + fact(QObject::tr("from"), link(range.begin)) +
          fact(QObject::tr("to"), link(range.end));
  if (f == nullptr) return html + "</table><p>" + QObject::tr("Computing the rest \u2026") + "</p>";
  const Bytes growth = f->end - f->begin;
  const auto counted = [](uint64_t count) {
    return visible(text::plural(count, "allocation", "allocations")).toHtmlEscaped();
  };
  html += fact(QObject::tr("peak"), QObject::tr("%1 at %2").arg(bytes_words(f->peak), link(f->peak_time)));
  html += fact(QObject::tr("growth"), QObject::tr("%1: from %2 to %3")
                                          .arg(signed_bytes(growth), bytes_words(f->begin), bytes_words(f->end))
                                          .toHtmlEscaped());
  html +=
      fact(QObject::tr("allocated"), QObject::tr("%1 in %2").arg(bytes_words(f->allocated), counted(f->allocations)));
  html += fact(QObject::tr("freed"), QObject::tr("%1 of these, in the range").arg(visible(text::count_text(f->freed))));
  html += "</table>" + heading(QObject::tr("Made in the range, and alive at its end"));
  if (f->stay.empty()) return html + "<p style='margin:0'>" + QObject::tr("nothing") + "</p>";
  html += "<table width='100%' cellspacing=0 cellpadding=1>";
  for (const RangeFacts::Group& group : f->stay) {
    QString name = QString("<a href='allocation:%1'>%2</a>")
                       .arg(group.largest.value)
                       .arg(breakable(group.op.isEmpty() ? QObject::tr("(no operator)") : group.op));
    if (group.allocations > 1) name += QString::fromUtf8(" &times;%1").arg(group.allocations);
    for (const QString& more : {group.source, group.module})
      if (!more.isEmpty())
        name += QString("<br><span style='color:%1'>%2</span>").arg(theme().faint.name(), breakable(more));
    html += QString("<tr><td>%1</td><td align=right style='padding-left:8px'>%2</td></tr>")
                .arg(name, bytes_words(group.bytes).replace(' ', QChar(0xa0)));
  }
  html += "</table>";
  if (f->groups > f->stay.size())
    html += "<p>" + QObject::tr("and %1 smaller ones").arg(f->groups - f->stay.size()) + "</p>";
  return html;
}

constexpr size_t kMostGroups = 5, kMostEntries = 4, kMostRequests = 8;

QString row(const QString& left, const QString& right) {
  return QString("<tr><td>%1</td><td align=right style='padding-left:8px'>%2</td></tr>").arg(left, right);
}

QString remark(const QString& text) {
  return QString("<p style='margin:2px 0; color:%1'>%2</p>").arg(theme().faint.name(), text.toHtmlEscaped());
}

QString faint(const QString& text) {
  return QString("<span style='color:%1'>%2</span>").arg(theme().faint.name(), breakable(text));
}

QString unbroken(QString words) { return words.replace(' ', QChar(0xa0)); }

// A category has the label of the legend.
QString group_words(const std::string& key) { return visible(report::group_text(key)); }

// The memory of the device's allocator at the peak, and the failed requests.
QString device_summary(const Session& session) {
  const Subject& subject = session.subject();
  QString html;
  if (subject.lines) {
    const peak::DeviceMemory& memory = subject.lines->memory;
    const Time at = subject.device.when.time;
    html += heading(QObject::tr("Memory of the allocator of %1 at that time").arg(subject.label)) +
            "<table width='100%' cellspacing=0 cellpadding=1>";
    html += row(QObject::tr("allocated, in blocks"), unbroken(bytes_words(Bytes{memory.allocated.at(at)})));
    if (const int64_t waiting = memory.waiting.at(at); waiting > 0)
      html += row(QObject::tr("freed, waits for a stream"), unbroken(bytes_words(Bytes{waiting})));
    if (!subject.lines->reserved.is_flat())
      html += row(QObject::tr("reserved, in segments"), unbroken(bytes_words(Bytes{memory.reserved.at(at)})));
    html +=
        "</table><p style='margin:4px 0'><a href='page:segments'>" + QObject::tr("Its segments as a map") + "</a></p>";
  }
  const auto& requests = subject.out_of_memory;
  if (requests.empty()) return html;
  html += heading(QObject::tr("Out of memory")) + "<table width='100%' cellspacing=0 cellpadding=1>";
  for (size_t i = 0; i < std::min(requests.size(), kMostRequests); ++i) {
    const auto f = out_of_memory_facts(*session.document(), subject, requests[i]);
    html += QString("<tr><td><a href='oom:%1'>%2</a> &nbsp;%3</td></tr>")
                .arg(requests[i].value)
                .arg(unbroken(time_words(f.time)).toHtmlEscaped(), out_of_memory_words(f).toHtmlEscaped());
  }
  html += "</table>";
  if (requests.size() > kMostRequests) {
    html += remark(QObject::tr("and %1 more: O goes to the next").arg(requests.size() - kMostRequests));
  }
  return html;
}

// The summary before any click: the holders at the peak, and how to lower it.
QString summary_of(const Session& session) {
  const Subject& subject = session.subject();
  QString html = QString("<p style='margin-bottom:4px'><b>%1</b></p>")
                     .arg(QObject::tr("What held the peak: %1").arg(bytes_words(subject.device.peak)).toHtmlEscaped());
  html += "<table width='100%' cellspacing=0 cellpadding=1>";
  const auto add = [&](const QString& name, Bytes bytes) {
    html += QString(
                "<tr><td>%1</td><td align=right style='padding-left:8px'>%2</td>"
                "<td align=right style='padding-left:8px'>%3</td></tr>")
                .arg(breakable(name), unbroken(bytes_words(bytes)),
                     unbroken(QString::fromStdString(text::percent_text(bytes, subject.device.peak))));
  };
  const auto& moment = session.moment();
  if (moment && !session.view().at) {
    const auto& groups = moment->described.groups;
    for (size_t i = 0; i < std::min(groups.size(), kMostGroups); ++i) add(group_words(groups[i].key), groups[i].bytes);
  } else {
    for (const peak::Category& category : peak::categories(subject.peak))
      add(category_label(category.kind), category.bytes);
  }
  html += "</table><p style='margin:4px 0'><a href='page:peak'>" + QObject::tr("All of it, by module and line") +
          "</a></p>";

  html += device_summary(session);
  html += heading(QObject::tr("What to do about it"));
  if (!session.has(Part::advice)) return html + remark(QObject::tr("Being worked out …"));
  const advise::Advice& advice = subject.advised->advice;
  if (advice.findings.empty()) return html + remark(QObject::tr("No avoidable memory was found."));
  html += "<table width='100%' cellspacing=0 cellpadding=1>";
  size_t shown = 0;
  for (const advise::Entry& entry : advice.entries) {
    // The same selection as in the report.
    if (entry.is_small || entry.kind == advise::Entry::Kind::trade || shown == kMostEntries) continue;
    ++shown;
    const advise::Finding& first = advice.findings[entry.findings.front()];
    const QString place = visible(report::source_text(first.source));
    const bool is_one = entry.findings.size() == 1 && !place.isEmpty();
    html += row(QString("%1<a href='finding:%2'>%3</a>")
                    .arg(is_one ? faint(place) + "<br>" : QString(), visible(first.id),
                         visible(report::entry_title(advice, entry)).toHtmlEscaped()),
                unbroken(signed_bytes(Bytes{} - entry.change())));
  }
  if (shown == 0) html += row(QObject::tr("Nothing lowers it by 1 %."), {});
  const Bytes after = advice.peak_after_all;
  const QString all = after < subject.device.peak
                          ? QObject::tr("All findings (%1): %2 with %3 fixed")
                                .arg(advice.findings.size())
                                .arg(bytes_words(after), QString::fromStdString(report::fixed_text(advice)))
                          : QObject::tr("All findings (%1): the peak does not change").arg(advice.findings.size());
  html += "</table><p style='margin:4px 0'><a href='page:advice'>" + all.toHtmlEscaped() + "</a></p>";
  return html + remark(QObject::tr(
                    "Click a block to see the allocation, its saves and uses, and its release by the backward."));
}

}  // namespace

Inspector::Inspector(Session& session, QWidget* parent) : QTextBrowser(parent), session_(session) {
  setOpenLinks(false);
  setAccessibleName(tr("Selected allocation"));
  connect(this, &QTextBrowser::anchorClicked, this, [this](const QUrl& url) {
    if (url.scheme() == "time") {
      Q_EMIT wanted(Time{url.path().toLongLong()});
      return;
    }
    ViewState next = session_.view();
    if (url.scheme() == "allocation") {
      session_.select_range({});
      next.allocation = AllocationId{url.path().toUInt()};
      session_.look(next);
      return;
    }
    if (url.scheme() == "oom") {
      session_.look(at_out_of_memory(session_, model::OutOfMemoryId{url.path().toUInt()}));
      return;
    }
    next.page = url.path() == "peak" ? PageId::peak : url.path() == "segments" ? PageId::segments : PageId::advice;
    if (url.scheme() == "finding") next.finding = url.path();
    session_.look(next);
  });
  connect(&session, &Session::opened, this, &Inspector::refresh);
  connect(&session, &Session::closed, this, &Inspector::refresh);
  connect(&session, &Session::viewChanged, this, [this](const ViewState& before) {
    const ViewState& now = session_.view();
    if (before.allocation != now.allocation || before.subject != now.subject) refresh();
  });
  connect(&session, &Session::momentChanged, this, &Inspector::refresh);
  connect(&session, &Session::rangeChanged, this, &Inspector::refresh);
  connect(&session, &Session::made, this, [this](Part part) {
    if (part == Part::relations || part == Part::advice) refresh();
  });
  refresh();
}

void Inspector::refresh() {
  document()->setDefaultStyleSheet(QString("a { color: %1; text-decoration: none }").arg(theme().accent.name()));
  const AllocationId id = session_.view().allocation;
  if (session_.document() == nullptr) {
    clear();
    return;
  }
  if (const auto& range = session_.selected_range()) {
    setHtml(range_of(*range, session_.range_facts().get()));
    return;
  }
  if (!id) {
    setHtml(summary_of(session_));
    return;
  }
  const bool has_relations = session_.has(Part::relations);
  const auto facts = facts_of(*session_.document(), session_.subject(), id, has_relations, kMostListed + 1);
  setHtml(html_of(facts, session_.subject(), session_.document()->facts().duration, has_relations));
}

void Inspector::changeEvent(QEvent* event) {
  if (event->type() == QEvent::PaletteChange) refresh();
  QTextBrowser::changeEvent(event);
}

}  // namespace tapelens::gui
