// The files that a page is made of, as they are in the source tree.
#pragma once

#include <string_view>

namespace tapelens::report::parts {

extern const std::string_view skeleton, style, script, shared_script, icicle_script, axis_script, fit_style, fit_script;
extern const std::string_view diff_skeleton, diff_style, diff_script;
extern const std::string_view plot_script, plot_style, plot_license;

}  // namespace tapelens::report::parts
