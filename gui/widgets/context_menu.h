// The context menu of rows and of places in the timeline: one for all pages, with the entries that fit.
#pragma once

#include <QString>
#include <QStringList>
#include <functional>

#include "gui/models/session.h"

class QAbstractItemModel;
class QAbstractItemView;
class QMenu;

namespace tapelens::gui {

class IcicleView;

// The things that a row or a place is about. Empty ones have no entry.
struct ContextTarget {
  AllocationId allocation;
  QStringList modules;  // paths; equal ones as text::equal_rows() writes them: "Net.layers.{0-3}"
  QString op;           // name of the operator
  report::Frame line;   // to open in an editor; empty file: none
  QString group = {};   // another name that the filter finds: a saved field, a node, a category
};

// The allocation with its module, operator and line.
ContextTarget target_of(const Session& session, AllocationId allocation);

// Shows it on other pages, filters by it, leaves it out, opens its line.
void add_target_entries(QMenu& menu, Session& session, const ContextTarget& target);

// Gives a table or tree the menu: the actions of the view, the copies of the cell, the row and the table, and the
// entries of the row's target, if `target` is given. Ctrl+C copies the row; the Menu key opens the menu of the current
// row. `all`: the table to copy as a whole, if the view shows it in another form; it outlives the view.
using RowTarget = std::function<ContextTarget(const QModelIndex&)>;
void add_context_menu(QAbstractItemView& view, Session* session = nullptr, RowTarget target = {},
                      QAbstractItemModel* all = nullptr);
// The same for the pieces of an icicle: copies and zooms, and the entries of the target of the piece's node.
using NodeTarget = std::function<ContextTarget(uint32_t node)>;
void add_context_menu(IcicleView& icicle, Session& session, NodeTarget target);

}  // namespace tapelens::gui
