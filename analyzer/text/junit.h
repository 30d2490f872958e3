// JUnit's XML, which CI systems show as test results: one suite with its test cases.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tapelens::text {

struct JunitCase {
  struct Failure {
    std::string file;
    uint32_t line = 0;                 // 0: the place is not known
    std::string message;               // one line
    std::vector<std::string> details;  // a line each
  };
  std::string class_name, name;
  std::optional<Failure> failure;  // empty: the test passed
};

// `remarks`: the output of the suite, a line each.
std::string junit_document(std::string_view suite, std::span<const JunitCase> cases,
                           std::span<const std::string> remarks);

}  // namespace tapelens::text
