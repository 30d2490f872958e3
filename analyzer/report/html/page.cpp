#include "analyzer/report/html/page.h"

#include <functional>
#include <stdexcept>

namespace tapelens::report::parts {

std::string filled(std::string_view skeleton,
                   std::initializer_list<std::pair<std::string_view, std::string_view>> values) {
  std::string out;
  for (const auto& [name, value] : values) {
    const std::string mark = "{{" + std::string(name) + "}}";
    const size_t at = skeleton.find(mark);
    if (at == std::string_view::npos) throw std::logic_error("the page has no " + mark);
    out += skeleton.substr(0, at);
    out += value;
    skeleton.remove_prefix(at + mark.size());
  }
  return out += skeleton;
}

std::string nonce_of(const std::string& data) { return std::to_string(std::hash<std::string>()(data)); }

}  // namespace tapelens::report::parts
