#include "analyzer/pickle/machine.h"

#include <algorithm>
#include <bit>

#include "analyzer/pickle/opcodes.h"
#include "analyzer/pickle/window.h"

namespace tapelens::pickle {

namespace {

constexpr uint64_t kOpcodesBetweenProgress = uint64_t{1} << 20;  // opcodes
constexpr size_t kDeepest = 1000;                                // nested containers; a snapshot has 6

class Machine {
 public:
  Machine(Window& window, const MemoUse& use, Maker& maker)
      : window_(window),
        use_(use),
        maker_(maker),
        // The C++ pickler puts all entries of a list on the stack at once; each takes more bytes than this in the file.
        most_values_(std::max<uint64_t>(uint64_t{1} << 20, window.file_bytes() / 16)),
        memo_(use.kept() + size_t{1}),
        fetched_(use.kept() + size_t{1}) {}

  Value run(const std::function<void(uint64_t)>& progress) {
    begin(window_);
    try {
      for (uint64_t count = 0; step(); ++count) {
        if (count % kOpcodesBetweenProgress == 0 && progress) progress(window_.offset());
      }
    } catch (Malformed& malformed) {
      if (malformed.offset == 0) malformed.offset = offset_;
      throw;
    }
    if (stack_.size() != 1 || !marks_.empty()) wrong("it ends with more than one value, or none");
    return stack_.back();
  }

 private:
  [[noreturn]] void wrong(const char* what) const { throw Malformed{offset_, what}; }

  // False at the end of the pickle.
  bool step() {
    offset_ = window_.offset();
    const uint8_t code = window_.byte();
    switch (const auto opcode = static_cast<Opcode>(code)) {
      case Opcode::stop:
        return false;
      case Opcode::frame:
        skip_frame(window_);
        break;
      case Opcode::mark:
        if (marks_.size() == kDeepest) wrong("containers within containers, more than a thousand deep");
        marks_.push_back(stack_.size());
        break;
      case Opcode::none:
        push({.kind = Kind::none});
        break;
      case Opcode::new_true:
      case Opcode::new_false:
        push({.payload = opcode == Opcode::new_true ? 1U : 0U, .kind = Kind::boolean});
        break;
      case Opcode::binint1:
        push_integer(window_.byte());
        break;
      case Opcode::binint2:
        push_integer(window_.number<uint16_t>());
        break;
      case Opcode::binint:
        push_integer(window_.number<int32_t>());
        break;
      case Opcode::long1:
        push_long();
        break;
      case Opcode::binfloat:
        push({.payload = __builtin_bswap64(window_.number<uint64_t>()), .kind = Kind::real});
        break;
      case Opcode::binunicode:
      case Opcode::short_binunicode:
      case Opcode::binunicode8:
        push({.payload = maker_.text(window_.text(length_of_text(window_, opcode))), .kind = Kind::text});
        break;
      case Opcode::empty_list:
        push({.kind = Kind::empty_list});
        break;
      case Opcode::empty_dict:
        push({.kind = Kind::empty_dict});
        break;
      case Opcode::append:
        add_to_list(needed(2) + 1);
        break;
      case Opcode::appends:
        add_to_list(take_mark());
        break;
      case Opcode::setitem:
        add_to_dict(needed(3) + 1);
        break;
      case Opcode::setitems:
        add_to_dict(take_mark());
        break;
      case Opcode::empty_tuple:
        make_tuple(stack_.size());
        break;
      case Opcode::tuple1:
        make_tuple(needed(1));
        break;
      case Opcode::tuple2:
        make_tuple(needed(2));
        break;
      case Opcode::tuple3:
        make_tuple(needed(3));
        break;
      case Opcode::tuple:
        make_tuple(take_mark());
        break;
      case Opcode::binput:
        window_.skip(1);
        put();
        break;
      case Opcode::long_binput:
        window_.skip(4);
        put();
        break;
      case Opcode::memoize:
        put();
        break;
      case Opcode::binget:
        get(window_.byte());
        break;
      case Opcode::long_binget:
        get(window_.number<uint32_t>());
        break;
      default:
        throw Malformed{offset_, refused(code)};
    }
    return true;
  }

  void push(const Value& value) {
    if (stack_.size() >= most_values_) wrong("more values at once than a file of this size can be about");
    stack_.push_back(value);
  }
  void push_integer(int64_t value) {
    push({.payload = static_cast<uint64_t>(value), .kind = Kind::integer, .is_negative = value < 0});
  }
  // Addresses need 64 bits and a sign bit.
  void push_long() {
    const uint8_t count = window_.byte();
    const std::string_view digits = window_.text(count);
    uint64_t value = 0;
    for (size_t i = 0; i < std::min<size_t>(count, 8); ++i) value |= uint64_t{static_cast<uint8_t>(digits[i])} << 8 * i;
    const bool is_negative = count > 0 && (static_cast<uint8_t>(digits[count - 1]) & 0x80) != 0;
    if (count > 9 || (count == 9 && digits[8] != 0)) wrong("a number of more than 64 bits");
    if (is_negative && count < 8) value |= ~uint64_t{0} << 8 * count;
    push({.payload = value, .kind = Kind::integer, .is_negative = is_negative});
  }

  // The index of the first of the last `count` values, which must all be above the last mark.
  size_t needed(size_t count) const {
    const size_t floor = marks_.empty() ? 0 : marks_.back();
    if (stack_.size() - floor < count) wrong("a container that lacks values");
    return stack_.size() - count;
  }
  size_t take_mark() {
    if (marks_.empty()) wrong("a container that ends and was not begun");
    const size_t at = marks_.back();
    marks_.pop_back();
    return at;
  }
  // The container that grows, below the values from `first` on.
  Value& container(size_t first, Kind empty) {
    const size_t floor = marks_.empty() ? 0 : marks_.back();
    if (first <= floor) wrong("values without a container");
    Value& value = stack_[first - 1];
    if (value.kind != empty && value.kind != Kind::made)
      wrong("values that are added to an object that is not a container");
    if (value.is_shared || (value.slot != 0 && fetched_[value.slot]))
      wrong("a container that changes after it was referred to");
    return value;
  }
  std::span<const Value> from(size_t first) {
    for (size_t i = first; i < stack_.size(); ++i) stack_[i].is_shared = true;
    return std::span(stack_).subspan(first);
  }
  void became(Value& value, Value now, size_t first) {
    now.slot = value.slot;
    value = now;
    if (value.slot != 0) memo_[value.slot] = value;
    stack_.resize(first);
  }
  void add_to_list(size_t first) {
    Value& list = container(first, Kind::empty_list);
    became(list, maker_.list(list, from(first)), first);
  }
  void add_to_dict(size_t first) {
    Value& dict = container(first, Kind::empty_dict);
    if ((stack_.size() - first) % 2 != 0) wrong("a dict with a key that has no value");
    became(dict, maker_.dict(dict, from(first)), first);
  }
  void make_tuple(size_t first) {
    const Value made = maker_.tuple(from(first));
    stack_.resize(first);
    push(made);
  }

  void put() {
    const uint64_t number = next_++;
    Value& value = stack_[needed(1)];
    if (number >= use_.numbers()) wrong("the file changed while it was read");
    const uint32_t slot = use_.slot(number);
    if (slot == kNotKept) return;
    if (value.slot != 0) wrong("a value that is numbered twice");
    if (!value.is_shared) value.slot = slot;
    memo_[slot] = value;
  }
  void get(uint64_t number) {
    const uint32_t slot = number < next_ ? use_.slot(number) : kNotKept;
    if (slot == kNotKept) wrong("the file changed while it was read");
    fetched_[slot] = true;
    Value value = memo_[slot];
    value.slot = 0;
    value.is_shared = true;
    push(value);
  }

  Window& window_;
  const MemoUse& use_;
  Maker& maker_;
  const uint64_t most_values_;
  std::vector<Value> stack_, memo_;  // memo_ by slot
  std::vector<bool> fetched_;        // by slot
  std::vector<size_t> marks_;        // indices on the stack
  uint64_t offset_ = 0, next_ = 0;
};

}  // namespace

Value read(Window& window, const MemoUse& memo, Maker& maker, const std::function<void(uint64_t)>& progress) {
  return Machine(window, memo, maker).run(progress);
}

}  // namespace tapelens::pickle
