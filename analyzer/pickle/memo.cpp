#include "analyzer/pickle/memo.h"

#include "analyzer/pickle/opcodes.h"
#include "analyzer/pickle/window.h"

namespace tapelens::pickle {

namespace {
constexpr uint64_t kBetweenProgress = uint64_t{1} << 20;  // opcodes
}

void MemoUse::get(uint64_t number, uint64_t offset) {
  if (number >= numbers_) throw Malformed{offset, "it refers to a value that comes later, or never"};
  words_[number / 64] |= uint64_t{1} << number % 64;
}

MemoUse MemoUse::of(Window& window, const std::function<void(uint64_t)>& progress) {
  MemoUse use;
  begin(window);
  for (uint64_t count = 0;; ++count) {
    if (count % kBetweenProgress == 0 && progress) progress(window.offset());
    const uint64_t offset = window.offset();
    const uint8_t code = window.byte();
    switch (const auto opcode = static_cast<Opcode>(code)) {
      case Opcode::stop:
        if (window.left() > 0) throw Malformed{window.offset(), "there is something behind the end of the pickle"};
        for (const uint64_t word : use.words_) {
          use.before_.push_back(use.kept_);
          use.kept_ += static_cast<uint32_t>(__builtin_popcountll(word));
        }
        return use;
      case Opcode::frame:
        skip_frame(window);
        break;
      case Opcode::mark:
      case Opcode::none:
      case Opcode::new_true:
      case Opcode::new_false:
      case Opcode::empty_list:
      case Opcode::append:
      case Opcode::appends:
      case Opcode::empty_tuple:
      case Opcode::tuple1:
      case Opcode::tuple2:
      case Opcode::tuple3:
      case Opcode::tuple:
      case Opcode::empty_dict:
      case Opcode::setitem:
      case Opcode::setitems:
        break;
      case Opcode::binint1:
        window.skip(1);
        break;
      case Opcode::binint2:
        window.skip(2);
        break;
      case Opcode::binint:
        window.skip(4);
        break;
      case Opcode::binfloat:
        window.skip(8);
        break;
      case Opcode::long1:
        window.skip(window.byte());
        break;
      case Opcode::binunicode:
      case Opcode::short_binunicode:
      case Opcode::binunicode8:
        window.skip(length_of_text(window, opcode));
        break;
      // Both known writers number values consecutively; any other numbering is refused.
      case Opcode::binput:
        if (window.byte() != use.numbers_) throw Malformed{offset, "its values are not numbered one after another"};
        use.put();
        break;
      case Opcode::long_binput:
        if (window.number<uint32_t>() != use.numbers_)
          throw Malformed{offset, "its values are not numbered one after another"};
        use.put();
        break;
      case Opcode::memoize:
        use.put();
        break;
      case Opcode::binget:
        use.get(window.byte(), offset);
        break;
      case Opcode::long_binget:
        use.get(window.number<uint32_t>(), offset);
        break;
      default:
        throw Malformed{offset, refused(code)};
    }
  }
}

}  // namespace tapelens::pickle
