#include "gui/widgets/context_menu.h"

#include <QAbstractItemView>
#include <QAction>
#include <QClipboard>
#include <QFileInfo>
#include <QGuiApplication>
#include <QMenu>
#include <algorithm>

#include "analyzer/model/attribution.h"
#include "analyzer/model/text.h"
#include "gui/models/filter_words.h"
#include "gui/models/visible_text.h"
#include "gui/widgets/editor.h"
#include "gui/widgets/icicle.h"
#include "gui/widgets/table.h"
#include "gui/widgets/theme.h"

namespace tapelens::gui {

namespace {

// A menu shows "&" as a shortcut's mark, and a tab as the begin of the shortcut.
QString label(const QString& text, const QString& name) {
  constexpr int kMostLetters = 60;
  QString shown = name.size() > kMostLetters ? QStringLiteral("…") + name.right(kMostLetters) : name;
  shown.replace(QLatin1Char('&'), QStringLiteral("&&")).replace(QLatin1Char('\t'), QLatin1Char(' '));
  return text.arg(shown);
}

// The pages that show the filter: on others, the Peak page opens.
void filter_by(Session& session, const QString& filter) {
  ViewState next = session.view();
  next.filter = filter;
  if (next.page != PageId::timeline && next.page != PageId::peak && next.page != PageId::compare)
    next.page = PageId::peak;
  session.look(next);
}

// A filter keeps rows that have all of its words, so several names can only be hidden.
void add_filters(QMenu& menu, Session& session, const QString& kind, const QStringList& names) {
  const auto has_word = [](const QString& name) { return !name.isEmpty() && !name.contains(QLatin1Char('"')); };
  if (names.isEmpty() || !std::ranges::all_of(names, has_word)) return;
  const QString filter = session.view().filter;
  if (names.size() == 1) {
    const QString word = FilterWord{names.front(), true}.typed();
    menu.addAction(label(QObject::tr("Look at %1 %2").arg(kind), names.front()), &session, [&session, filter, word] {
      QStringList words{word};
      for (const FilterWord& hidden : FilterWords(filter).left_out) words << QLatin1Char('-') + hidden.typed();
      filter_by(session, words.join(QLatin1Char(' ')));
    });
  }
  QString hiding = filter;
  for (const QString& name : names) hiding += QStringLiteral(" -") + FilterWord{name, true}.typed();
  menu.addAction(label(QObject::tr("Hide %1 %2").arg(kind), names.join(QStringLiteral(", "))), &session,
                 [&session, hiding] { filter_by(session, hiding.trimmed()); });
}

void add_line(QMenu& menu, Session& session, const report::Frame& line) {
  if (line.file.empty()) return;
  const QString file = QString::fromStdString(line.file);
  const QString name = QFileInfo(file).fileName() + QLatin1Char(':') + QString::number(line.line);
  const QString path = found_source(file, {QFileInfo(session.document()->facts().path).absolutePath()});
  QAction* open = menu.addAction(label(QObject::tr("Open %1 in the editor"), name), &session,
                                 [&session, path, line = static_cast<int>(line.line)] {
                                   if (!open_in_editor(path, line))
                                     Q_EMIT session.failed(QObject::tr("No editor could be started for %1: set VISUAL, "
                                                                       "like VISUAL=code")
                                                               .arg(visible(path.toStdString())));
                                 });
  open->setEnabled(!path.isEmpty() && is_source_code(path));
  menu.addAction(label(QObject::tr("Copy %1"), name), &session, [file, number = line.line] {
    QGuiApplication::clipboard()->setText(file + QLatin1Char(':') + QString::number(number));
  });
}

QString plain_cell(const QModelIndex& index) {
  const QString text = index.data().toString();
  return text.isEmpty() ? index.data(Qt::EditRole).toString() : text;
}

void show_menu(QAbstractItemView& view, const QModelIndex& index, const QPoint& place, Session* session,
               const RowTarget& target) {
  auto* menu = new QMenu(&view);
  menu->setAttribute(Qt::WA_DeleteOnClose);
  if (const QString cell = plain_cell(index); !cell.isEmpty()) {
    menu->addAction(label(QObject::tr("Copy \"%1\""), cell), &view,
                    [cell] { QGuiApplication::clipboard()->setText(cell); });
  }
  menu->addActions(view.actions());
  if (session != nullptr && session->document() != nullptr && target)
    add_target_entries(*menu, *session, target(index));
  menu->popup(view.viewport()->mapToGlobal(place));
}

}  // namespace

ContextTarget target_of(const Session& session, AllocationId allocation) {
  if (session.document() == nullptr || !allocation) return {};
  const Process& p = session.subject().of.process;
  const Text& text = session.document()->text();
  return {allocation,
          {visible(text.string(text.module_path[module_of(p, allocation)]))},
          visible(text.string(called_name_of(p, text, allocation))),
          peak::frame_of(text, source_frame(text, stack_of(p, text, allocation)))};
}

void add_target_entries(QMenu& menu, Session& session, const ContextTarget& target) {
  menu.addSeparator();
  const auto show_on = [&](PageId page, const QString& text) {
    if (!target.allocation || session.view().page == page) return;
    menu.addAction(text, &session, [&session, page, id = target.allocation] {
      ViewState next = session.view();
      next.page = page;
      next.allocation = id;
      session.look(next);
    });
  };
  show_on(PageId::timeline, QObject::tr("Show the allocation in the timeline"));
  show_on(PageId::peak, QObject::tr("Show the allocation on the Peak page"));
  const bool is_one = target.modules.size() == 1 && !target.modules.front().contains(QLatin1Char('{'));
  add_filters(menu, session, is_one ? QObject::tr("module") : QObject::tr("modules"), target.modules);
  add_filters(menu, session, QObject::tr("operator"), {target.op});
  add_filters(menu, session, QObject::tr("group"), {target.group});
  if (!session.view().filter.isEmpty())
    menu.addAction(QObject::tr("Clear the filter"), &session, [&session] { filter_by(session, {}); });
  menu.addSeparator();
  add_line(menu, session, target.line);
}

void add_context_menu(IcicleView& icicle, Session& session, NodeTarget target) {
  icicle.setContextMenuPolicy(Qt::CustomContextMenu);
  QObject::connect(&icicle, &QWidget::customContextMenuRequested, &icicle,
                   [&icicle, &session, target = std::move(target)](const QPoint& place) {
                     const uint32_t node = icicle.node_at(place);
                     icicle.set_current(node);
                     auto* menu = new QMenu(&icicle);
                     menu->setAttribute(Qt::WA_DeleteOnClose);
                     const auto copy = [&](const QString& text, const QString& copied) {
                       menu->addAction(text, &icicle, [copied] { QGuiApplication::clipboard()->setText(copied); });
                     };
                     const QString name = icicle.tree().path(node);
                     if (!name.isEmpty()) copy(label(QObject::tr("Copy \"%1\""), name), name);
                     copy(QObject::tr("Copy the description"), icicle.description(node));
                     if (node != icicle.zoomed())
                       menu->addAction(QObject::tr("Zoom in"), &icicle, [&icicle, node] { icicle.zoom_to(node); });
                     if (icicle.zoomed() != GroupTree::kRoot)
                       menu->addAction(QObject::tr("Show all"), &icicle,
                                       [&icicle] { icicle.zoom_to(GroupTree::kRoot); });
                     if (session.document() != nullptr) add_target_entries(*menu, session, target(node));
                     menu->popup(icicle.viewport()->mapToGlobal(place));
                   });
}

void add_context_menu(QAbstractItemView& view, Session* session, RowTarget target, QAbstractItemModel* all) {
  const auto add = [&](const QString& text, const QKeySequence& keys, auto&& run) {
    auto* action = new QAction(text, &view);
    action->setShortcut(keys);
    action->setShortcutContext(Qt::WidgetShortcut);
    QObject::connect(action, &QAction::triggered, &view, run);
    view.addAction(action);
  };
  add(QObject::tr("Copy row"), QKeySequence::Copy, [&view] {
    if (view.currentIndex().isValid()) QGuiApplication::clipboard()->setText(row_text(view.currentIndex()));
  });
  add(QObject::tr("Copy all as CSV"), {},
      [&view, all] { QGuiApplication::clipboard()->setText(csv_text(all != nullptr ? *all : *view.model())); });
  view.setContextMenuPolicy(Qt::CustomContextMenu);
  QObject::connect(&view, &QWidget::customContextMenuRequested, &view,
                   [&view, session, target = std::move(target)](const QPoint& place) {
                     QModelIndex index = view.indexAt(place);
                     QPoint at = place;
                     if (!index.isValid()) {  // the Menu key, or a click below the rows
                       index = view.currentIndex();
                       at = view.visualRect(index).center();
                     }
                     if (!index.isValid()) return;
                     view.setCurrentIndex(index);
                     show_menu(view, index, at, session, target);
                   });
}

}  // namespace tapelens::gui
