// Modules, operators and evaluations of nodes as nested spans, one track for each thread.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "analyzer/model/load.h"
#include "analyzer/model/model.h"
#include "analyzer/model/sorted_times.h"
#include "analyzer/model/text.h"
#include "gui/picture/axis.h"

namespace tapelens::picture {

using namespace model;

enum class SpanKind : uint8_t { module_call, op, evaluation };

// One row of a track: spans without overlaps, in the order of time.
struct TrackRow {
  SortedTimes begin, end;
  std::vector<uint32_t> id;  // kind in the two highest bits; the other bits: row of its table
  // The longest of every 16 and every 256 spans, in the order of time.
  struct Longest {
    int64_t begin;   // begin of the first span
    int64_t length;  // ns
    uint32_t place;  // index in the row
  };
  std::vector<Longest> of_16, of_256;

  void index();  // call after the last span: computes of_16 and of_256
  // The end of the spans that begin before a time, starting at `first`, which is one of them. With many spans, the
  // result may be slightly too low.
  size_t behind(size_t first, int64_t time) const;
  size_t longest(size_t first, size_t last) const;  // index of the longest in [first, last)

  static SpanKind kind(uint32_t id) { return static_cast<SpanKind>(id >> 30); }
  static uint32_t row(uint32_t id) { return id & ((uint32_t{1} << 30) - 1); }
};

struct Track {
  uint32_t os_thread = 0;
  std::vector<TrackRow> rows;  // outermost first
};

class Tracks {
 public:
  Tracks(const Process& process, const Threads& threads);

  const std::vector<Track>& tracks() const { return tracks_; }

  struct Piece {
    int x0, x1;       // in pixels, half open; its spans lie within
    uint32_t id;      // of its longest span
    bool is_several;  // it represents several spans, each less than a pixel wide
  };
  // Visits every span of a row that is wider than three pixels, and one piece for every three pixels of narrower spans.
  // The cost depends on the number of pixels.
  static void visit(const TrackRow& row, const TimeAxis& axis, const std::function<void(const Piece&)>& visit);
  // The span at a time; UINT32_MAX if none.
  static uint32_t at(const TrackRow& row, Time time);

 private:
  std::vector<Track> tracks_;
};

// "conv2d" of "aten::conv2d", "layer1.0.conv1", "ConvolutionBackward0"
std::string_view span_name(const Process& process, const Text& text, uint32_t id);
Interval span_time(const Process& process, uint32_t id);

}  // namespace tapelens::picture
