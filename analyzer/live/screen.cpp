#include "analyzer/live/screen.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "analyzer/model/words.h"
#include "analyzer/text/format.h"
#include "analyzer/text/names.h"

namespace tapelens::live {
namespace {

using namespace text;

constexpr size_t kLeastRows = 12, kCurveRows = 8;
constexpr unsigned kBytesWidth = 11, kCategoryWidth = 25;  // "freed, waits for a stream"

Bytes bytes_of(uint64_t bytes) { return {static_cast<int64_t>(bytes)}; }
std::string amount(uint64_t bytes) { return bytes_text(bytes_of(bytes)); }

std::string duration_text(Time time) {
  const int64_t seconds = time.ns / 1'000'000'000;
  if (seconds < 60) return time_text(time);
  const auto two = [](int64_t number) { return (number < 10 ? "0" : "") + std::to_string(number); };
  return std::to_string(seconds / 3600) + ":" + two(seconds / 60 % 60) + ":" + two(seconds % 60);
}

std::string peak_text(const DeviceMemory& device, bool has_steps) {
  std::string text = "peak " + amount(device.peak) + " at " + duration_text(device.peak_time);
  if (has_steps) text += ", step " + std::to_string(device.peak_step);
  return text;
}

// ---- the curve

class Curve {
 public:
  Curve(const std::vector<int64_t>& values, unsigned cells) : cells_(cells) {
    const size_t count = std::min<size_t>(values.size(), cells);
    for (size_t i = 0; i < values.size(); ++i) {
      if (columns_.size() <= i * count / values.size()) columns_.push_back(0);
      columns_.back() = std::max(columns_.back(), values[i]);
    }
    for (const int64_t value : columns_) highest_ = std::max(highest_, value);
  }
  int64_t highest() const { return highest_; }
  // Few values are spread over the whole width.
  std::string row(size_t row, size_t rows) const {
    static constexpr std::array<const char*, 9> kLevels = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    std::string out;
    for (unsigned cell = 0; cell < cells_ && !columns_.empty(); ++cell) {
      const int64_t value = columns_[cell * columns_.size() / cells_];
      const double eighths =
          highest_ > 0 ? static_cast<double>(value) / static_cast<double>(highest_) * static_cast<double>(rows) * 8 : 0;
      const double here = eighths - static_cast<double>(rows - 1 - row) * 8;
      out += kLevels[static_cast<size_t>(std::clamp(std::lround(here), 0L, 8L))];
    }
    return out;
  }

 private:
  unsigned cells_;
  std::vector<int64_t> columns_;
  int64_t highest_ = 0;
};

// A column that is wider than its texts lends the rest to those that are too narrow, the last one first. Columns of
// which no text is cut stay where they are.
template <size_t count>
void lend(std::array<unsigned, count>& widths, const std::array<unsigned, count>& wanted) {
  for (size_t to = count; to-- > 0;) {
    for (size_t from = count; from-- > 0 && widths[to] < wanted[to];) {
      if (widths[from] <= wanted[from]) continue;
      const unsigned lent = std::min(widths[from] - wanted[from], wanted[to] - widths[to]);
      widths[from] -= lent;
      widths[to] += lent;
    }
  }
}

// ---- the parts of the screen

class Screen {
 public:
  Screen(std::span<const std::unique_ptr<Followed>> processes, const ScreenOptions& options)
      : processes_(processes), options_(options), page_(options.style), left_(std::max(options.rows, kLeastRows)) {
    if (!options.keys.empty()) --left_;
  }

  std::string draw() {
    if (processes_.empty()) {
      line(page_.paint(Paint::bold, options_.title) + "  waiting for a process that runs LibTorch");
      return finish();
    }
    const size_t index = std::min(options_.process, processes_.size() - 1);
    const Followed& process = *processes_[index];
    header(process);
    const std::vector<uint8_t> devices = used_devices(process);
    if (devices.empty()) {
      line("  nothing is allocated yet");
    } else {
      const uint8_t device = devices[std::min(options_.device, devices.size() - 1)];
      for (const uint8_t one : devices) device_line(process, one, one == device && devices.size() > 1);
      curve(process, device);
      categories(process, device);
      if (processes_.size() > 1) process_table(index);
      holder_table(process, device);
    }
    return finish();
  }

 private:
  void line(std::string_view text) {
    if (left_ == 0) return;
    --left_;
    page_.line(text);
  }
  std::string finish() {
    if (!options_.keys.empty()) page_.line(page_.paint(Paint::dim, fit_words(options_.keys, page_.width())));
    return page_.take();
  }

  void header(const Followed& process) {
    const Memory& memory = process.memory();
    std::string text = "  pid " + std::to_string(process.tail().pid());
    if (!process.names().rank().empty()) text += "  rank " + std::string(process.names().rank());
    text += "  " + state_text(process);
    if (memory.steps() > 0) text += "  step " + count_text(memory.steps());
    if (process.state() == State::recording && *memory.phase() != '\0') text += " " + std::string(memory.phase());
    text += "  " + duration_text(process.now());
    const unsigned width = page_.width() - std::min(page_.width() - 20, columns(text));
    line(page_.paint(Paint::bold, fit(options_.title, width)) + text);
    std::string counts = "  " + count_text(memory.events()) + " events";
    if (const auto rate = process.events_per_second(); rate && process.state() == State::recording)
      counts += ", " + count_text(static_cast<uint64_t>(*rate)) + " a second";
    if (process.tail().lost_events() > 0) counts += ", " + count_text(process.tail().lost_events()) + " lost";
    if (process.tail().torn_blocks() > 0)
      counts += ", " + plural(process.tail().torn_blocks(), "damaged block", "damaged blocks");
    if (memory.out_of_memory() > 0)
      counts += ", " + plural(memory.out_of_memory(), "failed request", "failed requests");
    line(page_.paint(Paint::dim, counts));
  }

  void device_line(const Followed& process, uint8_t number, bool is_shown) {
    const DeviceMemory& device = process.memory().devices()[number];
    std::string text = (is_shown ? "> " : "  ") + device_name(process, number) + "  now " + amount(device.live) + "  " +
                       peak_text(device, process.memory().steps() > 0);
    if (const auto growth = growth_of(device)) text += "  " + growth_text(*growth);
    line(page_.paint(Paint::bold, text));
  }

  void curve(const Followed& process, uint8_t number) {
    const History& history = process.memory().devices()[number].history;
    const unsigned cells = page_.width() - kBytesWidth - 2;
    const Curve curve(history.values(process.now()), cells);
    const size_t rows = std::clamp(options_.rows / 5, size_t{3}, kCurveRows);
    line("");
    for (size_t row = 0; row < rows; ++row) {
      const std::string label = row == 0 ? bytes_text(Bytes{curve.highest()}) : row + 1 == rows ? "0 B" : "";
      line(pad_left(label, kBytesWidth) + "  " + page_.paint(Paint::cyan, curve.row(row, rows)));
    }
    const std::string begin = duration_text(history.begin()), end = duration_text(process.now());
    const unsigned between = cells - std::min(cells, columns(end));
    line(std::string(kBytesWidth + 2, ' ') + page_.paint(Paint::dim, pad_right(begin, between) + end));
  }

  void categories(const Followed& process, uint8_t number) {
    const DeviceMemory& device = process.memory().devices()[number];
    const bool is_ended = process.state() != State::recording;
    const uint64_t whole = is_ended ? device.peak : device.live;
    const unsigned used = kCategoryWidth + 2 * kBytesWidth + 18, cells = std::max(page_.width(), used + 8) - used;
    line("");
    line(page_.paint(Paint::bold, pad_right("  category", kCategoryWidth + 2)) +
         page_.paint(Paint::dim, pad_left("now", kBytesWidth) + pad_left("at the peak", kBytesWidth + 3) + "  share " +
                                     (is_ended ? "of the peak" : "now")));
    for (const CategoryRow& row : live::categories(process, number)) {
      const auto part = std::max<int64_t>(0, static_cast<int64_t>(is_ended ? row.at_peak : row.live));
      const double fraction = whole > 0 ? static_cast<double>(part) / static_cast<double>(whole) : 0;
      line("  " + pad_right(peak::label(row.kind), kCategoryWidth) + pad_left(amount(row.live), kBytesWidth) +
           pad_left(device.is_peak_older ? "" : amount(row.at_peak), kBytesWidth + 3) +
           pad_left(percent_text(Bytes{part}, bytes_of(whole)), 9) + "  " +
           page_.paint(Paint::green, bar(std::min(fraction, 1.0), cells)));
    }
  }

  void process_table(size_t shown) {
    line("");
    line(page_.paint(Paint::bold, "  " + pad_left("pid", 8) + pad_left("rank", 6) + "  " + pad_right("device", 8) +
                                      pad_left("now", kBytesWidth) + pad_left("peak", kBytesWidth + 1) +
                                      pad_left("step", 8) + "  state"));
    // The shown process stays visible in a list that is too long.
    const size_t most = std::max<size_t>(3, left_ / 2);
    const size_t first = shown >= most ? shown + 1 - most : 0;
    for (size_t i = first; i < std::min(processes_.size(), first + most); ++i) {
      const Followed& process = *processes_[i];
      const std::vector<uint8_t> devices = used_devices(process);
      std::string row = (i == shown ? "> " : "  ") + pad_left(std::to_string(process.tail().pid()), 8) +
                        pad_left(process.names().rank(), 6) + "  ";
      if (devices.empty()) {
        row += std::string(8 + 2 * kBytesWidth + 1, ' ');
      } else {
        const uint8_t number = devices[main_device(process)];
        const DeviceMemory& device = process.memory().devices()[number];
        row += pad_right(device_name(process, number), 8) + pad_left(amount(device.live), kBytesWidth) +
               pad_left(amount(device.peak), kBytesWidth + 1);
      }
      line(row + pad_left(std::to_string(process.memory().steps()), 8) + "  " + state_text(process));
    }
    if (first + most < processes_.size())
      line("  " + plural(processes_.size() - first - most, "more process", "more processes"));
  }

  void holder_table(const Followed& process, uint8_t device) {
    if (left_ < 4) return;
    const bool is_ended = process.state() != State::recording;
    if (is_ended && process.memory().devices()[device].is_peak_older) return;
    const std::vector<HolderRow> rows = holders(process, device, left_ - 2);
    if (rows.empty()) return;
    line("");
    const unsigned rest = page_.width() - kBytesWidth - 2;
    const unsigned fifth = rest / 5;
    std::array<unsigned, 3> widths = {rest - 3 * fifth - 4, 2 * fifth, fifth};
    std::array<unsigned, 3> wanted{};
    for (const HolderRow& row : rows) {
      // The operator of a temporary follows if there is room.
      const std::string held = row.is_field ? row.name : peak::label(row.kind);
      const std::array<unsigned, 3> here = {columns(held), columns(row.line), columns(row.module)};
      for (size_t i = 0; i < wanted.size(); ++i) wanted[i] = std::max(wanted[i], here[i]);
    }
    lend(widths, wanted);
    const auto [by, line_width, module] = widths;
    line(page_.paint(Paint::bold, pad_left(is_ended ? "at the peak" : "now", kBytesWidth) + "  " +
                                      pad_right("held by", by + 2) + pad_right("line", line_width + 2) + "module"));
    for (const HolderRow& row : rows) {
      // The field of a save is its name alone, as in the report.
      std::string by_text = fit_path(row.is_field ? row.name : peak::label(row.kind), by);
      if (!row.is_field && !row.name.empty() && columns(by_text) + 8 < by)
        by_text += " " + fit_path(row.name, by - columns(by_text) - 1);
      line(pad_left(amount(is_ended ? row.at_peak : row.live), kBytesWidth) + "  " + pad_right(by_text, by + 2) +
           pad_right(fit_words(row.line, line_width), line_width + 2) + fit_path(row.module, module));
    }
  }

  std::span<const std::unique_ptr<Followed>> processes_;
  const ScreenOptions& options_;
  Page page_;
  size_t left_;
};

}  // namespace

std::string screen(std::span<const std::unique_ptr<Followed>> processes, const ScreenOptions& options) {
  return Screen(processes, options).draw();
}

std::string summary(const Followed& process) {
  const std::vector<uint8_t> used = used_devices(process);
  std::string text = state_text(process);
  if (used.empty()) return text + ", nothing was allocated";
  const uint8_t number = used[main_device(process)];
  text += ": " + peak_text(process.memory().devices()[number], process.memory().steps() > 0) + " on " +
          device_name(process, number);
  if (process.memory().steps() > 0) text += " of " + model::counted(process.memory().steps(), "step");
  return text;
}

}  // namespace tapelens::live
