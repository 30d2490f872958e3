// The C functions: they check their arguments and catch all C++ exceptions.
#include "capi/tapelens.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <new>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "analyzer/check/sources.h"
#include "analyzer/peak/groups.h"
#include "analyzer/report/formats.h"
#include "analyzer/tables/opened.h"
#include "analyzer/tables/table.h"
#include "analyzer/text/escape.h"
#include "capi/between.h"
#include "capi/export.h"
#include "plugins/builtin.h"
#include "trace/result.h"

using namespace tapelens;

struct tapelens_recording {
  std::shared_ptr<tables::Opened> opened;
};

namespace {

using trace::Error;
using trace::ErrorKind;
using trace::Result;
using trace::Status;

// A malloc()ed copy, for tapelens_free(). Null: out of memory.
char* copied(const std::string& text) noexcept {
  auto* copy = static_cast<char*>(std::malloc(text.size() + 1));
  if (copy != nullptr) std::memcpy(copy, text.c_str(), text.size() + 1);
  return copy;
}

void say(char** error, const std::string& message) noexcept {
  if (error != nullptr) *error = copied(message);
}

// Converts the Status or the exception of `work` to an error number, and its sentence to *error.
template <class Work>
int guarded(char** error, Work work) noexcept {
  if (error != nullptr) *error = nullptr;
  try {
    const Status done = work();
    if (done) return TAPELENS_OK;
    say(error, done.error().message);
    return done.error().kind == ErrorKind::usage ? TAPELENS_USAGE : TAPELENS_UNREADABLE;
  } catch (const std::bad_alloc&) {
    if (error != nullptr) *error = strdup("there is not enough memory to read this recording");
  } catch (const std::exception& failure) {
    if (error != nullptr) *error = strdup(failure.what());
  }
  return TAPELENS_FAILED;
}

Error usage(std::string message) { return {std::move(message), ErrorKind::usage}; }

std::string names(const auto& all) {
  std::string text;
  for (const auto& one : all) text += (text.empty() ? "" : ", ") + one.name;
  return text;
}

Result<capi::TableSelection> selected(const tapelens_recording* recording, const tapelens_selection* wanted) {
  if (recording == nullptr || wanted == nullptr || wanted->table == nullptr) return usage("no table is named");
  capi::TableSelection selection;
  selection.table = tables::table_named(wanted->table);
  if (selection.table == nullptr) {
    return usage("unknown table '" + std::string(wanted->table) + "': the tables are " + names(tables::all_tables()));
  }
  const uint32_t processes = recording->opened->run().processes();
  if (wanted->process >= static_cast<int64_t>(processes)) {
    return usage("process " + std::to_string(wanted->process) + " is not in the recording, which has " +
                 std::to_string(processes) + ", counted from 0");
  }
  selection.first_process = wanted->process < 0 ? 0 : static_cast<uint32_t>(wanted->process);
  selection.last_process = wanted->process < 0 ? processes : selection.first_process + 1;
  if (selection.table->is_shared) selection.first_process = 0, selection.last_process = 1;
  for (size_t at = 0; wanted->columns != nullptr && at < wanted->column_count; ++at) {
    const char* name = wanted->columns[at];
    const tables::TableColumn* column = name != nullptr ? selection.table->column(name) : nullptr;
    if (column == nullptr) {
      return usage("the table " + selection.table->name + " has no column " + (name != nullptr ? name : "") +
                   ": it has " + names(selection.table->columns));
    }
    selection.columns.push_back(column);
  }
  if (wanted->columns == nullptr) {
    for (const tables::TableColumn& column : selection.table->columns) selection.columns.push_back(&column);
  }
  return selection;
}

// The type's name in Arrow.
const char* type_name(tables::Type type) {
  using tables::Type;
  switch (type) {
    case Type::boolean:
      return "bool";
    case Type::uint8:
      return "uint8";
    case Type::uint16:
      return "uint16";
    case Type::uint32:
      return "uint32";
    case Type::uint64:
      return "uint64";
    case Type::int32:
      return "int32";
    case Type::int64:
      return "int64";
    case Type::utf8:
      return "utf8";
    case Type::words:
      break;
  }
  return "dictionary";
}

nlohmann::json facts_of(const run::Run& run) {
  using Json = nlohmann::json;
  const trace::Recording& recording = run.recording();
  Json processes = Json::array(), tables = Json::array();
  for (const trace::ProcessSummary& process : recording.processes()) {
    processes.push_back({{"pid", process.pid},
                         {"parent_pid", process.parent_pid},
                         {"rank", process.rank >= 0 ? Json(process.rank) : Json(nullptr)},
                         {"finished", process.finished},
                         {"exit_code", process.exit_code ? Json(*process.exit_code) : Json(nullptr)},
                         {"wall_ns", process.wall_ns}});
  }
  for (const tables::Table& table : tables::all_tables()) {
    Json columns = Json::array();
    for (const tables::TableColumn& column : table.columns)
      columns.push_back({{"name", column.name}, {"type", type_name(column.type)}});
    tables.push_back({{"name", table.name}, {"is_shared", table.is_shared}, {"columns", std::move(columns)}});
  }
  return {
      {"file", run.file()},           {"command", recording.command()},       {"duration_ns", recording.duration().ns},
      {"events", recording.events()}, {"file_bytes", recording.file_bytes()}, {"processes", std::move(processes)},
      {"tables", std::move(tables)}};
}

Result<report::Options> report_options(const tapelens_report_options& wanted, const report::Format& format) {
  report::Options options;
  if (wanted.at != nullptr) {
    const auto at = report::parse_at(wanted.at);
    if (!at)
      return usage("'" + std::string(wanted.at) +
                   "' is not a moment: use peak, step:N, oom, oom:N, or a time like 1.5s");
    options.at = *at;
  }
  if (wanted.by != nullptr) {
    const auto by = peak::parse_by(wanted.by);
    if (!by) return usage("unknown grouping '" + std::string(wanted.by) + "'");
    options.by = *by;
  }
  options.top = wanted.top >= 0 ? static_cast<size_t>(wanted.top) : format.rows;
  if (wanted.pid > UINT32_MAX) return usage(std::to_string(wanted.pid) + " is not a process id");
  if (wanted.pid >= 0) options.process = static_cast<uint32_t>(wanted.pid);
  if (wanted.device != nullptr) options.device = wanted.device;
  options.keeps_equal = format.joins_equal;
  options.is_pictured = format.is_pictured;
  return options;
}

Result<std::string> rendered(const run::Run& run, const tapelens_report_options& wanted) {
  const std::string name = wanted.format != nullptr ? wanted.format : "text";
  const report::Format* format = report::format_of(name);
  if (format == nullptr || format->report == nullptr) {
    std::string known;
    for (const std::string& one : report::format_names(&report::Format::report))
      known += (known.empty() ? "" : ", ") + one;
    return usage("unknown report format '" + name + "': the formats are " + known);
  }
  const auto options = report_options(wanted, *format);
  if (!options) return options.error();
  advise::Checks checks = plugins::builtin_checks();
  advise::AdviceOptions of_checks;
  of_checks.sources = check::source_trees(run.file());
  const report::Advising advising{checks, std::move(of_checks), {}};
  auto built = report::build(run, *options, &advising);
  if (!built) return Error{run.file() + ": " + built.error().message, built.error().kind};
  built->recording.file = text::shell_quote(run.file());
  report::Rendering how;
  how.version = TAPELENS_VERSION;
  how.style.rows = *options->top;
  if (wanted.width >= 0) how.style.width = static_cast<unsigned>(std::clamp<int64_t>(wanted.width, 60, 1000));
  return format->report(*built, how);
}

}  // namespace

uint32_t tapelens_abi_version(void) { return TAPELENS_ABI_VERSION; }

const char* tapelens_version(void) { return TAPELENS_VERSION; }

void tapelens_free(char* text) { std::free(text); }

int tapelens_open(const char* path, tapelens_recording** out, char** error) {
  return guarded(error, [&]() -> Status {
    *out = nullptr;
    if (path == nullptr) return usage("no file is named");
    auto opened = tables::Opened::open(path, plugins::builtin_checks);
    if (!opened) return opened.error();
    *out = new tapelens_recording{std::move(*opened)};
    return trace::Done{};
  });
}

void tapelens_close(tapelens_recording* recording) { delete recording; }

int tapelens_facts(tapelens_recording* recording, char** json, char** error) {
  return guarded(error, [&]() -> Status {
    // Names come from the program and may be invalid UTF-8.
    *json = copied(facts_of(recording->opened->run()).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
    return trace::Done{};
  });
}

int tapelens_rows(tapelens_recording* recording, const tapelens_selection* selection, uint64_t* rows, char** error) {
  return guarded(error, [&]() -> Status {
    const auto of = selected(recording, selection);
    if (!of) return of.error();
    *rows = 0;
    for (uint32_t process = of->first_process; process < of->last_process; ++process)
      *rows += recording->opened->rows(*of->table, process);
    return trace::Done{};
  });
}

int tapelens_schema(tapelens_recording* recording, const tapelens_selection* selection, ArrowSchema* out,
                    char** error) {
  return guarded(error, [&]() -> Status {
    const auto of = selected(recording, selection);
    if (!of) return of.error();
    capi::export_schema(*of, *out);
    return trace::Done{};
  });
}

int tapelens_stream(tapelens_recording* recording, const tapelens_selection* selection, ArrowArrayStream* out,
                    char** error) {
  return guarded(error, [&]() -> Status {
    auto of = selected(recording, selection);
    if (!of) return of.error();
    capi::export_stream(recording->opened, std::move(*of), *out);
    return trace::Done{};
  });
}

int tapelens_between(tapelens_recording* recording, uint32_t process, int64_t begin_ns, int64_t end_ns, const char* by,
                     uint32_t groups, char** json, char** error) {
  return guarded(error, [&]() -> Status {
    const auto grouping = peak::parse_by(by != nullptr ? by : "field");
    if (!grouping) return usage("unknown grouping '" + std::string(by) + "'");
    if (process >= recording->opened->run().processes())
      return usage("process " + std::to_string(process) + " is not in the recording");
    if (begin_ns < 0 || end_ns < begin_ns) return usage("begin_ns must not be negative or after end_ns");
    const auto part = recording->opened->part(*tables::table_named("timeline"), process);
    const auto peaks = capi::peaks_between(*part, {trace::Time{begin_ns}, trace::Time{end_ns}}, *grouping, groups);
    *json = copied(peaks.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
    return trace::Done{};
  });
}

int tapelens_report(tapelens_recording* recording, const tapelens_report_options* options, char** text, char** error) {
  return guarded(error, [&]() -> Status {
    auto made = rendered(
        recording->opened->run(),
        options != nullptr ? *options : tapelens_report_options{nullptr, nullptr, nullptr, nullptr, -1, -1, -1});
    if (!made) return made.error();
    *text = copied(*made);
    return trace::Done{};
  });
}
