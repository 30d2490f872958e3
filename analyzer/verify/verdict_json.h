// The only writer and reader of the JSON that `tapelens verify --format json` prints.
#pragma once

#include <string>
#include <string_view>

#include "analyzer/verify/verdict.h"
#include "trace/result.h"

namespace tapelens::verify {

std::string verdict_json(const Verdict& verdict);

// The text is unverified. It must have every key of verdict_json(), whole numbers within int64_t where those belong,
// and no contradictions; otherwise the result is an error. `name` is the file's, for the error. Strings in the verdict
// may be any UTF-8.
trace::Result<Verdict> read_verdict(std::string_view json, std::string_view name);

}  // namespace tapelens::verify
