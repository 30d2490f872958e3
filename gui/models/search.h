// The results of a filter: allocations, and the names of the operators, nodes and modules that made them.
#pragma once

#include <QString>
#include <memory>
#include <vector>

#include "gui/models/document.h"
#include "gui/picture/curve.h"

namespace tapelens::gui {

struct SearchResult {
  QString filter;
  std::vector<uint8_t> is_allocation;  // by AllocationId: whether it matches
  std::vector<uint8_t> is_name;        // by StringId: operators, nodes, paths of modules
  uint64_t allocations = 0;            // number of matches on the subject's device
  picture::Portion curve;              // the live bytes of the matches over time
  std::vector<AllocationId> biggest;   // at most 1,000, in the order of time
};

// Every word of the filter must occur in at least one of: node.field of a save, operator, module, file:line function of
// the source, name of the role, category. Different words may occur in different ones.
SearchResult search(const Document& document, const Subject& subject, const QString& filter);

}  // namespace tapelens::gui
