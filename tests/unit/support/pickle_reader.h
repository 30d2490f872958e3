// Reads the pickles of an export into JSON, for the tests, opcode by opcode and without knowledge of the exporter.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace tapelens::testing {

class PickleReader {
 public:
  explicit PickleReader(std::string_view bytes) : bytes_(bytes) {}

  nlohmann::json read() {
    for (;;) {
      switch (const auto opcode = static_cast<unsigned char>(take(1)[0])) {
        case 0x80:
          if (take(1)[0] != 4) throw std::runtime_error("not protocol 4");
          break;
        case '}':
          stack_.push_back(nlohmann::json::object());
          break;
        case ']':
          stack_.push_back(nlohmann::json::array());
          break;
        case '(':
          marks_.push_back(stack_.size());
          break;
        case 'u':
          set_items();
          break;
        case 'e': {
          const size_t mark = pop_mark();
          if (stack_.size() - mark > 1000) throw std::runtime_error("a batch of more than 1000");
          for (size_t i = mark; i < stack_.size(); ++i) stack_.at(mark - 1).push_back(stack_[i]);
          stack_.resize(mark);
          break;
        }
        case 'K':
          stack_.push_back(unsigned_number(1));
          break;
        case 'M':
          stack_.push_back(unsigned_number(2));
          break;
        case 'J':
          stack_.push_back(static_cast<int32_t>(unsigned_number(4)));
          break;
        case 0x8a:
          long_number();
          break;
        case 0x88:
        case 0x89:
          stack_.push_back(opcode == 0x88);
          break;
        case 0x8c:
          stack_.push_back(std::string(take(unsigned_number(1))));
          break;
        case 'X':
          stack_.push_back(std::string(take(unsigned_number(4))));
          break;
        case 0x86: {
          nlohmann::json pair = nlohmann::json::array({stack_.at(stack_.size() - 2), stack_.back()});
          stack_.resize(stack_.size() - 2);
          stack_.push_back(std::move(pair));
          break;
        }
        case 0x94:
          memo_.push_back(stack_.back());
          break;
        case 'h':
          stack_.push_back(memo_.at(unsigned_number(1)));
          break;
        case 'j':
          stack_.push_back(memo_.at(unsigned_number(4)));
          break;
        case '.':
          if (stack_.size() != 1 || !bytes_.empty()) throw std::runtime_error("more than one value");
          return stack_[0];
        default:
          throw std::runtime_error("opcode " + std::to_string(opcode));
      }
    }
  }

 private:
  std::string_view take(uint64_t count) {
    if (count > bytes_.size()) throw std::runtime_error("it ends too early");
    const std::string_view taken = bytes_.substr(0, count);
    bytes_.remove_prefix(count);
    return taken;
  }
  uint64_t unsigned_number(int count) {
    uint64_t value = 0;
    int shift = 0;
    for (const char c : take(static_cast<uint64_t>(count))) {
      value |= uint64_t{static_cast<unsigned char>(c)} << shift;
      shift += 8;
    }
    return value;
  }
  void long_number() {
    const auto count = unsigned_number(1);
    if (count > 9) throw std::runtime_error("a long number");
    const std::string_view digits = take(count);
    const bool is_negative = (static_cast<unsigned char>(digits.back()) & 0x80) != 0;
    uint64_t value = is_negative ? UINT64_MAX : 0;
    for (size_t i = 0; i < std::min<size_t>(digits.size(), 8); ++i) {
      value &= ~(uint64_t{0xff} << (8 * i));
      value |= uint64_t{static_cast<unsigned char>(digits[i])} << (8 * i);
    }
    if (is_negative) {
      stack_.push_back(static_cast<int64_t>(value));
    } else {
      stack_.push_back(value);
    }
  }
  size_t pop_mark() {
    const size_t mark = marks_.at(marks_.size() - 1);
    marks_.pop_back();
    return mark;
  }
  void set_items() {
    const size_t mark = pop_mark();
    for (size_t i = mark; i + 1 < stack_.size(); i += 2) {
      stack_.at(mark - 1)[stack_[i].get<std::string>()] = stack_[i + 1];
    }
    stack_.resize(mark);
  }

  std::string_view bytes_;
  std::vector<nlohmann::json> stack_, memo_;
  std::vector<size_t> marks_;
};

}  // namespace tapelens::testing
