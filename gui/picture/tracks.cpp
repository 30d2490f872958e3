#include "gui/picture/tracks.h"

#include <algorithm>
#include <map>

namespace tapelens::picture {

namespace {

constexpr int kLeastPiece = 3;  // pixels

// The spans of all threads in the order of their begins. At equal begins, a module call encloses an evaluation, and an
// evaluation encloses an operator.
template <class Visit>
void in_order(const Process& p, Visit visit) {
  const std::vector<uint64_t>* begins[] = {&p.module_calls.begin.raw, &p.operators.begin.raw, &p.evaluations.begin.raw};
  constexpr SpanKind kOrder[] = {SpanKind::module_call, SpanKind::evaluation, SpanKind::op};
  uint32_t next[] = {1, 1, 1};
  for (;;) {
    int best = -1;
    uint64_t earliest = 0;
    for (const SpanKind kind : kOrder) {
      const auto k = static_cast<int>(kind);
      if (next[k] >= begins[k]->size()) continue;
      const uint64_t begin = (*begins[k])[next[k]];
      if (best < 0 || begin < earliest) {
        best = k;
        earliest = begin;
      }
    }
    if (best < 0) return;
    visit(static_cast<SpanKind>(best), next[best]++);
  }
}

}  // namespace

Tracks::Tracks(const Process& process, const Threads& threads) {
  std::map<uint16_t, size_t> number;       // number of a thread's track
  std::vector<std::vector<int64_t>> open;  // for each track: ends of the open spans, the outermost first
  in_order(process, [&](SpanKind kind, uint32_t row) {
    const uint16_t thread = kind == SpanKind::op            ? threads.of_operator.raw[row]
                            : kind == SpanKind::module_call ? threads.of_module_call.raw[row]
                                                            : threads.of_evaluation.raw[row];
    const auto [at, fresh] = number.try_emplace(thread, tracks_.size());
    if (fresh) {
      tracks_.push_back({threads.os_id.raw[thread], {}});
      open.emplace_back();
    }
    const uint32_t id = static_cast<uint32_t>(kind) << 30 | row;
    const Interval when = span_time(process, id);
    std::vector<int64_t>& around = open[at->second];
    while (!around.empty() && around.back() <= when.begin.ns) around.pop_back();
    // A span that outlasts its enclosing span is cut, because the spans of a row must not overlap.
    const int64_t end = std::min(when.end.ns, around.empty() ? process.duration.ns : around.back());
    std::vector<TrackRow>& rows = tracks_[at->second].rows;
    if (rows.size() <= around.size()) rows.resize(around.size() + 1);
    TrackRow& mine = rows[around.size()];
    mine.begin.push_back(when.begin.ns);
    mine.end.push_back(std::max(end, when.begin.ns));
    mine.id.push_back(id);
    around.push_back(std::max(end, when.begin.ns));
  });
  for (Track& track : tracks_) {
    for (TrackRow& row : track.rows) {
      row.index();
      row.begin.shrink_to_fit();
      row.end.shrink_to_fit();
      row.id.shrink_to_fit();
    }
  }
}

void TrackRow::index() {
  for (size_t i = 0; i < id.size(); ++i) {
    const Longest span{begin[i], end[i] - begin[i], static_cast<uint32_t>(i)};
    if (i % 16 == 0) of_16.push_back(span);
    if (i % 256 == 0) of_256.push_back(span);
    for (Longest* longest : {&of_16.back(), &of_256.back()}) {
      if (span.length <= longest->length) continue;
      longest->length = span.length;
      longest->place = span.place;
    }
  }
}

size_t TrackRow::behind(size_t first, int64_t time) const {
  // Beyond 1,024 spans, the result may be the end of a run of 256. The next piece takes the rest.
  constexpr size_t kMany = 1024;
  if (first + kMany < id.size() && begin[first + kMany] < time) {
    const auto from = of_256.begin() + static_cast<int64_t>(first / 256 + 1);
    size_t step = 4;
    while (first / 256 + step < of_256.size() && of_256[first / 256 + step].begin < time) step *= 2;
    const auto to = of_256.begin() + static_cast<int64_t>(std::min(of_256.size(), first / 256 + step));
    const auto run = std::partition_point(from, to, [time](const Longest& r) { return r.begin < time; });
    return static_cast<size_t>(run - of_256.begin() - 1) * 256;
  }
  return std::max(begin.at_or_after(time, first), first + 1);
}

size_t TrackRow::longest(size_t first, size_t last) const {
  Longest best{0, -1, 0};
  const auto consider = [&](const Longest& other) {
    if (other.length > best.length) best = other;
  };
  for (size_t i = first; i < last;) {
    if (i % 256 == 0 && i + 256 <= last) {
      consider(of_256[i / 256]);
      i += 256;
    } else if (i % 16 == 0 && i + 16 <= last) {
      consider(of_16[i / 16]);
      i += 16;
    } else {
      consider({begin[i], end[i] - begin[i], static_cast<uint32_t>(i)});
      ++i;
    }
  }
  return best.place;
}

void Tracks::visit(const TrackRow& row, const TimeAxis& axis, const std::function<void(const Piece&)>& visit) {
  // Begins and ends never decrease along a row.
  size_t i = row.end.after(axis.shown.begin.ns);
  while (i < row.id.size() && row.begin[i] < axis.shown.end.ns) {
    const int x0 = std::max(0, axis.column_of(Time{row.begin[i]}));
    const int least = std::min(x0 + kLeastPiece, axis.width);
    const auto right_of = [&](size_t span) {
      const Time end{row.end[span]};
      return end >= axis.shown.end ? axis.width : std::min(axis.width, axis.column_of(end) + 1);
    };
    int x1 = right_of(i);
    if (x1 > least) {
      visit({x0, x1, row.id[i++], false});
      continue;
    }
    // One piece for all spans that begin in it, up to the first wide one.
    const int64_t behind_piece = axis.time_of(least).ns;
    size_t behind = row.behind(i, behind_piece);
    x1 = right_of(behind - 1);
    if (behind - i > 1 && x1 > least) x1 = right_of(--behind - 1);
    visit({x0, std::max(x1, least), row.id[row.longest(i, behind)], behind - i > 1});
    i = behind;
  }
}

uint32_t Tracks::at(const TrackRow& row, Time time) {
  const size_t i = row.begin.after(time.ns);
  return i == 0 || row.end[i - 1] <= time.ns ? UINT32_MAX : row.id[i - 1];
}

std::string_view span_name(const Process& process, const Text& text, uint32_t id) {
  const uint32_t row = TrackRow::row(id);
  switch (TrackRow::kind(id)) {
    case SpanKind::module_call:
      return text.string(text.module_path[process.module_calls.module[ModuleCallId{row}]]);
    case SpanKind::op: {
      const std::string_view name = text.string(process.operators.name[OperatorId{row}]);
      return name.starts_with("aten::") ? name.substr(6) : name;
    }
    case SpanKind::evaluation:
      return text.string(process.nodes.type[process.evaluations.node[EvaluationId{row}]]);
  }
  return {};
}

Interval span_time(const Process& process, uint32_t id) {
  const uint32_t row = TrackRow::row(id);
  switch (TrackRow::kind(id)) {
    case SpanKind::module_call:
      return {process.module_calls.begin[ModuleCallId{row}], process.module_calls.end[ModuleCallId{row}]};
    case SpanKind::op:
      return {process.operators.begin[OperatorId{row}], process.operators.end[OperatorId{row}]};
    case SpanKind::evaluation:
      return {process.evaluations.begin[EvaluationId{row}], process.evaluations.end[EvaluationId{row}]};
  }
  return {};
}

}  // namespace tapelens::picture
