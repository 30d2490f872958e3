// The tables of a recording for Python and exports; docs/python.md lists them. Ids equal those of the model: they start
// at 1 in each process, and 0 means none.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "analyzer/tables/table.h"

namespace tapelens::tables {

// In the order in which a reader needs them.
std::span<const Table> all_tables();
const Table* table_named(std::string_view name);  // null if no table has that name

// ---- by subject, each in its own file
std::vector<Table> process_tables();  // processes.cpp: processes, devices, steps, regions, losses
std::vector<Table> event_tables();    // events.cpp: allocations, timeline, operators
std::vector<Table> graph_tables();    // graph.cpp: nodes, edges, saves
std::vector<Table> peak_tables();     // peak.cpp: the peak set and its holders
std::vector<Table> finding_tables();  // findings.cpp
std::vector<Table> shared_tables();   // shared.cpp: frames, stacks, modules

}  // namespace tapelens::tables
