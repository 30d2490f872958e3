// A terminal that shows one screen after the other: the alternate screen, restored at any end of this process that it
// can see. Plain ANSI sequences, which also work over ssh and in tmux.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

namespace tapelens::cli {

struct TerminalSize {
  unsigned columns = 80, rows = 24;
  friend bool operator==(const TerminalSize&, const TerminalSize&) = default;
};
TerminalSize terminal_size(int descriptor);

// Only one exists at a time.
class Terminal {
 public:
  // `output`: the terminal. If it was opened with O_NONBLOCK, a terminal that takes nothing (Ctrl-S) delays this
  // process by a second at most. `input`: the descriptor of the keys, which are read one by one without echo; -1: none
  // are read, and signals keep their effects.
  Terminal(int output, int input);
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;
  ~Terminal();

  // False: the terminal did not take the screen before this one yet, and this one is not shown.
  bool show(std::string_view lines);
  // Waits for a key, a new size or an end by a signal. With `input` only.
  enum class Event : uint8_t { timeout, key, resized, interrupted };
  Event wait(std::chrono::milliseconds timeout, char& key);
  // The signal that ended wait(), 0: none. The caller restores the terminal, and then raises it.
  int interrupted_by() const;

 private:
  const int output_, input_;
  std::string unwritten_;  // the rest of a screen
};

}  // namespace tapelens::cli
