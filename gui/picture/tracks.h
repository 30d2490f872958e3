// Modules, operators and the evaluation of nodes as nested spans, a track for each thread.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "analyzer/model/model.h"
#include "analyzer/model/sorted_times.h"
#include "analyzer/model/text.h"
#include "analyzer/model/threads.h"
#include "gui/picture/axis.h"

namespace tapelens::picture {

using namespace model;

enum class SpanKind : uint8_t { module_call, op, evaluation };

// A row of a track: spans that do not overlap, in the order of time.
struct Row {
  SortedTimes begin, end;
  std::vector<uint32_t> id;  // kind in the two highest bits, row of its table in the others
  // The longest span of every 16 and of every 256, in the order of time.
  struct Longest {
    int64_t begin;   // of the first of them
    int64_t length;  // ns
    uint32_t place;  // in the row
  };
  std::vector<Longest> of_16, of_256;

  void index();  // after the last span: makes the columns of the longest
  // Behind the spans that begin before a time, of those from `first` on, which is one of them; of many, a little less.
  size_t behind(size_t first, int64_t time) const;
  size_t longest(size_t first, size_t last) const;  // of [first, last): its place

  static SpanKind kind(uint32_t id) { return static_cast<SpanKind>(id >> 30); }
  static uint32_t row(uint32_t id) { return id & ((uint32_t{1} << 30) - 1); }
};

struct Track {
  uint32_t os_thread = 0;
  std::vector<Row> rows;  // the outermost first
};

class Tracks {
 public:
  Tracks(const Process& process, const Threads& threads);

  const std::vector<Track>& tracks() const { return tracks_; }

  struct Piece {
    int x0, x1;       // in pixels, half open; its spans lie in it
    uint32_t id;      // of the longest span that was met
    bool is_several;  // it stands for several, each less than a pixel wide
  };
  // Every span of a row that is more than three pixels wide; for each three pixels of narrower ones one piece. The cost
  // depends on the pixels.
  static void visit(const Row& row, const TimeAxis& axis, const std::function<void(const Piece&)>& visit);
  // The span at a time; UINT32_MAX: there is none.
  static uint32_t at(const Row& row, Time time);

 private:
  std::vector<Track> tracks_;
};

// "conv2d" of "aten::conv2d", "layer1.0.conv1", "ConvolutionBackward0"
std::string_view span_name(const Process& process, const Text& text, uint32_t id);
Interval span_time(const Process& process, uint32_t id);

}  // namespace tapelens::picture
