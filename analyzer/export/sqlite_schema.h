// The tables and views of the SQLite export; docs/export.md explains them. A change of their meaning increments
// user_version.
#pragma once

namespace tapelens::exporting {

// application_id is "TPLN".
inline constexpr const char* kTables = R"sql(
PRAGMA journal_mode = OFF;
PRAGMA synchronous = OFF;
PRAGMA locking_mode = EXCLUSIVE;
PRAGMA application_id = 1414548558;
PRAGMA user_version = 1;
BEGIN;
CREATE TABLE recording (key TEXT PRIMARY KEY, value) WITHOUT ROWID;
CREATE TABLE processes (process INTEGER PRIMARY KEY, pid INTEGER, parent_pid INTEGER, rank INTEGER, finished INTEGER,
  exit_code INTEGER);
CREATE TABLE devices (process INTEGER, device TEXT, peak_bytes INTEGER, peak_ns INTEGER, allocations INTEGER,
  frees INTEGER, live_at_end_bytes INTEGER, allocated_peak_bytes INTEGER, reserved_peak_bytes INTEGER,
  PRIMARY KEY (process, device)) WITHOUT ROWID;
CREATE TABLE steps (process INTEGER, device TEXT, step INTEGER, begin_ns INTEGER, end_ns INTEGER, complete INTEGER,
  begin_live_bytes INTEGER, peak_bytes INTEGER, allocations INTEGER, allocated_bytes INTEGER,
  PRIMARY KEY (process, device, step)) WITHOUT ROWID;
CREATE TABLE phases (process INTEGER, begin_ns INTEGER, end_ns INTEGER, phase TEXT);
CREATE TABLE frames (id INTEGER PRIMARY KEY, file TEXT, line INTEGER, function TEXT);
CREATE TABLE stacks (id INTEGER PRIMARY KEY, source_frame_id INTEGER, source TEXT);
CREATE TABLE stack_frames (stack_id INTEGER, depth INTEGER, frame_id INTEGER, PRIMARY KEY (stack_id, depth))
  WITHOUT ROWID;
CREATE TABLE modules (id INTEGER PRIMARY KEY, path TEXT, type TEXT);
CREATE TABLE module_calls (process INTEGER, id INTEGER, module_id INTEGER, begin_ns INTEGER, end_ns INTEGER,
  parent_id INTEGER, thread INTEGER, PRIMARY KEY (process, id)) WITHOUT ROWID;
CREATE TABLE operators (process INTEGER, id INTEGER, name TEXT, begin_ns INTEGER, end_ns INTEGER, parent_id INTEGER,
  evaluation_id INTEGER, module_id INTEGER, stack_id INTEGER, thread INTEGER, PRIMARY KEY (process, id)) WITHOUT ROWID;
CREATE TABLE nodes (process INTEGER, id INTEGER, type TEXT, operator_id INTEGER, created_ns INTEGER,
  parameter_id INTEGER, PRIMARY KEY (process, id)) WITHOUT ROWID;
CREATE TABLE evaluations (process INTEGER, id INTEGER, node_id INTEGER, begin_ns INTEGER, end_ns INTEGER,
  thread INTEGER, PRIMARY KEY (process, id)) WITHOUT ROWID;
CREATE TABLE saves (process INTEGER, id INTEGER, node_id INTEGER, node TEXT, field TEXT, list_index INTEGER,
  allocation_id INTEGER, layout TEXT, logical_bytes INTEGER, saved_ns INTEGER, released_ns INTEGER,
  wrapped_number INTEGER, packed INTEGER, PRIMARY KEY (process, id)) WITHOUT ROWID;
CREATE TABLE allocations (process INTEGER, id INTEGER, device TEXT, bytes INTEGER, allocated_ns INTEGER,
  freed_ns INTEGER, category TEXT, step INTEGER, phase TEXT, operator TEXT, operator_id INTEGER, module_id INTEGER,
  stack_id INTEGER, owned INTEGER, block_bytes INTEGER, address INTEGER, stream INTEGER, PRIMARY KEY (process, id))
  WITHOUT ROWID;
CREATE TABLE peak (process INTEGER, device TEXT, allocation_id INTEGER, bytes INTEGER, category TEXT, held_by TEXT,
  name TEXT, saves INTEGER, PRIMARY KEY (process, device, allocation_id)) WITHOUT ROWID;
CREATE TABLE findings (process INTEGER, device TEXT, number INTEGER, id TEXT, check_id TEXT, severity TEXT,
  confidence TEXT, title TEXT, message TEXT, bytes INTEGER, peak_before_bytes INTEGER, peak_after_bytes INTEGER,
  occurrences INTEGER, node TEXT, field TEXT, operator TEXT, module TEXT, file TEXT, line INTEGER, function TEXT,
  fix TEXT, rewrite TEXT, PRIMARY KEY (process, device, number)) WITHOUT ROWID;
)sql";

inline constexpr const char* kViews = R"sql(
CREATE INDEX saves_of_allocation ON saves (process, allocation_id);
CREATE VIEW alive_at_peak AS
  SELECT p.process, p.device, p.allocation_id, p.bytes, p.category, p.held_by, p.name, p.saves, a.operator, m.path AS module,
    s.source, a.step, a.phase, a.allocated_ns, a.freed_ns, a.stack_id
  FROM peak p JOIN allocations a ON a.process = p.process AND a.id = p.allocation_id
    LEFT JOIN modules m ON m.id = a.module_id LEFT JOIN stacks s ON s.id = a.stack_id;
CREATE VIEW peak_by_category AS
  SELECT process, device, category, sum(bytes) AS bytes, count(*) AS allocations
  FROM peak GROUP BY process, device, category ORDER BY process, device, bytes DESC;
CREATE VIEW peak_by_field AS
  SELECT process, device, held_by AS field, sum(bytes) AS bytes, count(*) AS allocations
  FROM peak GROUP BY process, device, held_by ORDER BY process, device, bytes DESC;
CREATE VIEW peak_by_source AS
  SELECT process, device, coalesce(source, '(no stack)') AS source, sum(bytes) AS bytes, count(*) AS allocations
  FROM alive_at_peak GROUP BY process, device, 3 ORDER BY process, device, bytes DESC;
CREATE VIEW peak_by_operator AS
  SELECT process, device, coalesce(operator, '(no operator)') AS operator, sum(bytes) AS bytes, count(*) AS allocations
  FROM alive_at_peak GROUP BY process, device, 3 ORDER BY process, device, bytes DESC;
CREATE VIEW peak_by_module AS
  SELECT process, device, coalesce(module, '(outside of modules)') AS module, sum(bytes) AS bytes,
    count(*) AS allocations
  FROM alive_at_peak GROUP BY process, device, 3 ORDER BY process, device, bytes DESC;
CREATE VIEW saves_by_field AS
  SELECT f.process, f.field, f.saves, f.logical_bytes, coalesce(h.storage_bytes, 0) AS storage_bytes
  FROM (SELECT process, coalesce(node, '(unattributed)') || '.' || coalesce(field, '') AS field, count(*) AS saves,
      sum(logical_bytes) AS logical_bytes
    FROM saves WHERE NOT wrapped_number GROUP BY 1, 2) f
  LEFT JOIN (SELECT process, field, sum(bytes) AS storage_bytes
    FROM (SELECT DISTINCT s.process, coalesce(s.node, '(unattributed)') || '.' || coalesce(s.field, '') AS field, a.id, a.bytes
      FROM saves s JOIN allocations a ON a.process = s.process AND a.id = s.allocation_id
      WHERE NOT s.wrapped_number AND NOT s.packed)
    GROUP BY 1, 2) h ON h.process = f.process AND h.field = f.field
  ORDER BY f.process, storage_bytes DESC;
CREATE VIEW longest_saves AS
  SELECT s.process, s.id, coalesce(s.node, '(unattributed)') || '.' || coalesce(s.field, '') AS field, s.layout, a.bytes, s.saved_ns, s.released_ns,
    coalesce(s.released_ns, (SELECT value FROM recording WHERE key = 'duration_ns')) - s.saved_ns AS held_ns,
    m.path AS module, k.source
  FROM saves s JOIN allocations a ON a.process = s.process AND a.id = s.allocation_id
    LEFT JOIN modules m ON m.id = a.module_id LEFT JOIN stacks k ON k.id = a.stack_id
  WHERE NOT s.wrapped_number AND NOT s.packed ORDER BY held_ns DESC;
CREATE VIEW allocated_by_operator AS
  SELECT process, device, coalesce(operator, '(no operator)') AS operator, count(*) AS allocations, sum(bytes) AS bytes,
    max(bytes) AS largest_bytes
  FROM allocations WHERE owned GROUP BY process, device, 3 ORDER BY bytes DESC;
COMMIT;
)sql";

}  // namespace tapelens::exporting
