// What a filter finds in a recording: allocations, and the names of what made them.
#pragma once

#include <QString>
#include <memory>
#include <vector>

#include "gui/models/document.h"
#include "gui/picture/curve.h"

namespace tapelens::gui {

struct SearchResult {
  QString filter;
  std::vector<uint8_t> is_allocation;  // by AllocationId: whether it is found
  std::vector<uint8_t> is_name;        // by StringId: operators, nodes, paths of modules
  uint64_t allocations = 0;            // that were found, on the subject's device
  picture::Portion curve;              // how much of them was alive, over time
  std::vector<AllocationId> biggest;   // at most 1,000, in the order of time
};

// Every word of the filter must be in one of: node.field of a save, its operator, its module, file:line function of its
// source, its role's name, its category. Words may be in different ones.
SearchResult search(const Document& document, const Subject& subject, const QString& filter);

}  // namespace tapelens::gui
