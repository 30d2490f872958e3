// Text that Markdown must not act upon.
#pragma once

#include <string>
#include <string_view>

namespace tapelens::report {

// Inside of a table's cell: names may hold what Markdown and HTML would act upon.
std::string cell(std::string_view text);

// As code. A backtick would end it; a pipe would end the cell even in there.
std::string code(std::string_view text);

}  // namespace tapelens::report
