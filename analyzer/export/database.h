// The part of SQLite that an export needs: a file, tables, rows.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "trace/types.h"

struct sqlite3;
struct sqlite3_stmt;

namespace tapelens::exporting {

// Failures throw WriteFailed.
class Database {
 public:
  explicit Database(const std::string& path);
  void run(const char* statements);

 private:
  friend class Rows;
  struct Close {
    void operator()(sqlite3* database) const;
  };
  std::unique_ptr<sqlite3, Close> database_;
};

// Writes rows of one table, value by value in the order of its columns.
class Rows {
 public:
  Rows(Database& database, const char* table, int columns);

  Rows& number(int64_t value);
  Rows& id(uint32_t value) { return value == 0 ? null() : number(value); }
  Rows& time(trace::Time time) { return time == trace::kNever ? null() : number(time.ns); }
  Rows& bytes(trace::Bytes bytes) { return number(bytes.value); }
  // UTF-8. The text must stay valid until the row is written; own_text() copies a temporary one.
  Rows& text(std::string_view utf8);
  Rows& own_text(const std::string& utf8);
  Rows& null();
  void put();

 private:
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const;
  };
  sqlite3* const database_;
  std::unique_ptr<sqlite3_stmt, Finalize> insert_;
  const int columns_;
  int next_ = 1;
};

}  // namespace tapelens::exporting
