// The tables that a recording is read as, from Python and by exports: what docs/python.md lists. Ids are those of the
// model: they count from 1 in their process, 0 is none.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "analyzer/tables/table.h"

namespace tapelens::tables {

// In the order in which a reader wants them.
std::span<const Table> all_tables();
const Table* table_named(std::string_view name);  // null: there is none

// ---- by subject, each in a file of its own
std::vector<Table> process_tables();  // processes.cpp: processes, devices, steps, regions, what went wrong
std::vector<Table> event_tables();    // events.cpp: allocations, timeline, operators
std::vector<Table> graph_tables();    // graph.cpp: nodes, edges, saves
std::vector<Table> peak_tables();     // peak.cpp: the peak set and its holders
std::vector<Table> finding_tables();  // findings.cpp
std::vector<Table> shared_tables();   // shared.cpp: frames, stacks, modules

}  // namespace tapelens::tables
