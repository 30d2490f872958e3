#include "analyzer/export/database.h"

#include <sqlite3.h>

#include "analyzer/export/sink.h"

namespace tapelens::exporting {
namespace {

[[noreturn]] void fail(sqlite3* database) { throw WriteFailed{0, sqlite3_errmsg(database)}; }

}  // namespace

void Database::Close::operator()(sqlite3* database) const { sqlite3_close_v2(database); }

Database::Database(const std::string& path) {
  sqlite3* opened = nullptr;
  const int code = sqlite3_open_v2(path.c_str(), &opened, SQLITE_OPEN_READWRITE, nullptr);
  database_.reset(opened);
  if (opened == nullptr) throw WriteFailed{0, "no memory for SQLite"};
  if (code != SQLITE_OK) fail(opened);
}

void Database::run(const char* statements) {
  if (sqlite3_exec(database_.get(), statements, nullptr, nullptr, nullptr) != SQLITE_OK) fail(database_.get());
}

void Rows::Finalize::operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }

Rows::Rows(Database& database, const char* table, int columns)
    : database_(database.database_.get()), columns_(columns) {
  std::string insert = "INSERT INTO " + std::string(table) + " VALUES (";
  for (int i = 0; i < columns; ++i) insert += i == 0 ? "?" : ",?";
  insert += ")";
  sqlite3_stmt* prepared = nullptr;
  if (sqlite3_prepare_v3(database_, insert.c_str(), -1, SQLITE_PREPARE_PERSISTENT, &prepared, nullptr) != SQLITE_OK)
    fail(database_);
  insert_.reset(prepared);
}

Rows& Rows::number(int64_t value) {
  sqlite3_bind_int64(insert_.get(), next_++, value);
  return *this;
}

Rows& Rows::text(std::string_view utf8) {
  // An empty view may have a null address, which SQLite would store as NULL.
  const char* data = utf8.data() == nullptr ? "" : utf8.data();
  if (sqlite3_bind_text64(insert_.get(), next_++, data, utf8.size(), SQLITE_STATIC, SQLITE_UTF8) != SQLITE_OK)
    fail(database_);
  return *this;
}

Rows& Rows::own_text(const std::string& utf8) {
  if (sqlite3_bind_text64(insert_.get(), next_++, utf8.data(), utf8.size(), SQLITE_TRANSIENT, SQLITE_UTF8) != SQLITE_OK)
    fail(database_);
  return *this;
}

Rows& Rows::null() {
  sqlite3_bind_null(insert_.get(), next_++);
  return *this;
}

void Rows::put() {
  if (next_ != columns_ + 1) throw WriteFailed{0, "a row has another number of values: this is a bug of Tapelens"};
  next_ = 1;
  if (sqlite3_step(insert_.get()) != SQLITE_DONE) fail(database_);
  sqlite3_reset(insert_.get());
}

}  // namespace tapelens::exporting
