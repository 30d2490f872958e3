// The verdict as JSON: the one writer and the one reader of what `tapelens verify --format json` writes.
#pragma once

#include <string>
#include <string_view>

#include "analyzer/verify/verdict.h"
#include "trace/result.h"

namespace tapelens::verify {

std::string verdict_json(const Verdict& verdict);

// Nobody vouches for the text: it has every key that verdict_json() writes, with whole numbers where those are (a
// fraction, or what no int64_t holds, is none), and it does not contradict itself; else it is no verdict. `name`: of
// the file, for the error. Text in the verdict may be anything that is UTF-8.
trace::Result<Verdict> read_verdict(std::string_view json, std::string_view name);

}  // namespace tapelens::verify
