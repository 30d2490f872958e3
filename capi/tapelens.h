/* libtapelens reads a sealed recording from any language that can call C. It returns tables as Arrow C streams
 * (arrow.h), which pyarrow, polars, pandas, DuckDB and others read without a copy.
 *
 * No function throws or ends the process. Functions that can fail return a value of `enum tapelens_status`, 0 on
 * success. On failure they set *error to one sentence for the user, which the caller must pass to tapelens_free().
 * Paths and texts are UTF-8. Any thread may call any function. Streams keep their recording open after it is closed. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "capi/arrow.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TAPELENS_API __attribute__((visibility("default")))

/* Incremented when a change of a function here breaks older callers. */
#define TAPELENS_ABI_VERSION 1

enum tapelens_status {
  TAPELENS_OK = 0,
  TAPELENS_UNREADABLE = 1, /* the file cannot be read, or is not a recording */
  TAPELENS_USAGE = 2,      /* the table, column, process, device, format, ... does not exist */
  TAPELENS_FAILED = 3,     /* out of memory, or an internal error */
};

struct tapelens_recording;

TAPELENS_API uint32_t tapelens_abi_version(void);
TAPELENS_API const char* tapelens_version(void); /* "0.1.0" */
TAPELENS_API void tapelens_free(char* text);

TAPELENS_API int tapelens_open(const char* path, struct tapelens_recording** out, char** error);
TAPELENS_API void tapelens_close(struct tapelens_recording* recording);

/* Properties of the whole recording, as JSON: file, command, duration_ns, events, file_bytes, processes (pid,
 * parent_pid, rank, finished, exit_code, wall_ns), tables (name, is_shared, columns). */
TAPELENS_API int tapelens_facts(struct tapelens_recording* recording, char** json, char** error);

/* Selects rows and columns of a table. Null: all. */
struct tapelens_selection {
  const char* table;
  int64_t process;            /* index in the recording, from 0; -1: all */
  const char* const* columns; /* null: all */
  size_t column_count;
};
/* The number of selected rows. */
TAPELENS_API int tapelens_rows(struct tapelens_recording* recording, const struct tapelens_selection* selection,
                               uint64_t* rows, char** error);
TAPELENS_API int tapelens_schema(struct tapelens_recording* recording, const struct tapelens_selection* selection,
                                 struct ArrowSchema* out, char** error);
/* The stream makes batches one by one, on demand. */
TAPELENS_API int tapelens_stream(struct tapelens_recording* recording, const struct tapelens_selection* selection,
                                 struct ArrowArrayStream* out, char** error);

/* The memory on each device of a process in [begin_ns, end_ns) of the recording's time, as JSON: device,
 * begin_live_bytes, peak_bytes, peak_time_ns, and at most `groups` groups (key, bytes, allocations, source) that
 * held the peak, grouped by `by` ("field", "source", ...; null: field). */
TAPELENS_API int tapelens_between(struct tapelens_recording* recording, uint32_t process, int64_t begin_ns,
                                  int64_t end_ns, const char* by, uint32_t groups, char** json, char** error);

/* The output of `tapelens report`. Null: the default of the option. */
struct tapelens_report_options {
  const char* format; /* "text", "json", "markdown", "html", ... */
  const char* at;     /* "peak", "step:3", "1.5s", ... */
  const char* by;     /* "field", "module", "source", ... */
  const char* device;
  int64_t top;   /* groups and allocations to list; -1: the format's default */
  int64_t pid;   /* -1: the process of the device */
  int64_t width; /* of text, in columns; -1: 100 */
};
TAPELENS_API int tapelens_report(struct tapelens_recording* recording, const struct tapelens_report_options* options,
                                 char** text, char** error);

#ifdef __cplusplus
}
#endif
