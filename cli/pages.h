// The pages of docs/ that describe commands, as Markdown: `tapelens man` has them, so that they come with every
// package.
#pragma once

#include <string_view>

namespace tapelens::cli {

// `page`: a name of Command::page, "record". Empty for an unknown page.
std::string_view page_text(std::string_view page);

}  // namespace tapelens::cli
