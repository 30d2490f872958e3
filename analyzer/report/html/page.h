// A page from its skeleton.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

namespace tapelens::report::parts {

// A skeleton with each {{name}} replaced, once and in this order. Inserted text is not searched again.
std::string filled(std::string_view skeleton,
                   std::initializer_list<std::pair<std::string_view, std::string_view>> values);

// Identifies the scripts of the page with this data. A browser runs no other script, even if the escaping missed one.
std::string nonce_of(const std::string& data);

}  // namespace tapelens::report::parts
