// The value of a call that can fail, or one sentence for the user. Its form: "file: offset: problem: remedy".
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <variant>

namespace tapelens::trace {

// The reason of a failure. It determines the exit code of the command line (cli/messages.h).
enum class ErrorKind : uint8_t {
  unreadable,        // a file cannot be read or written, or has the wrong content
  usage,             // the request is invalid: an option names something that does not exist
  nothing_recorded,  // no process of the command was recorded
  incomplete,        // a recording lost data that is needed
  nothing_compared,  // two runs have nothing in common to compare
  command_failed,    // the user's command did not start, or failed
};

struct Error {
  std::string message;
  ErrorKind kind = ErrorKind::unreadable;
};

template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : value_(std::in_place_index<1>, std::move(error)) {}

  explicit operator bool() const { return value_.index() == 0; }
  T& operator*() { return std::get<0>(value_); }
  const T& operator*() const { return std::get<0>(value_); }
  T* operator->() { return &std::get<0>(value_); }
  const T* operator->() const { return &std::get<0>(value_); }
  const Error& error() const { return std::get<1>(value_); }

 private:
  std::variant<T, Error> value_;
};

struct Done {};
using Status = Result<Done>;

}  // namespace tapelens::trace
