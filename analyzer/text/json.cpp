#include "analyzer/text/json.h"

#include "analyzer/text/escape.h"

namespace tapelens::text {

std::string dumped(const Json& value) {
  return printable_json(value.dump(2, ' ', false, Json::error_handler_t::replace)) + "\n";
}

}  // namespace tapelens::text
