#include "analyzer/peak/value_reads.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "analyzer/model/attribution.h"
#include "analyzer/model/words.h"
#include "analyzer/peak/groups.h"

namespace tapelens::peak {

std::vector<ValueRead> value_reads(const Analysis& analysis) {
  const model::Process& process = analysis.process();
  const model::Text& text = analysis.text();
  std::vector<ValueRead> out;
  std::map<std::tuple<uint32_t, uint32_t>, size_t> places;
  for (uint32_t row = 1; row <= process.value_reads.rows(); ++row) {
    const model::ValueReadId read{row};
    const model::FrameId frame = model::source_frame(text, model::stack_of(process, text, read));
    const model::StringId name = process.value_reads.name[read];
    const auto [at, is_new] = places.try_emplace({frame.value, name.value}, out.size());
    if (is_new) {
      ValueRead place;
      place.op = text.string(name);
      place.first = process.value_reads.time[read];
      if (frame) {
        place.source = frame_text(text, frame);
        place.frame = frame_of(text, frame);
      }
      out.push_back(std::move(place));
    }
    ++out[at->second].count;
  }
  return out;
}

std::string value_reads_text(const std::vector<ValueRead>& reads) {
  constexpr size_t kShown = 4;
  std::vector<std::string> places;  // ranks of one program have equal places
  for (const ValueRead& read : reads) {
    const std::string op = read.op.starts_with("aten::") ? read.op.substr(6) : read.op;
    std::string place = (read.source.empty() ? "an unknown place" : read.source) + " (" + op + ")";
    if (std::ranges::find(places, place) == places.end()) places.push_back(std::move(place));
  }
  if (places.empty()) return {};
  std::string out = "The peak may depend on values that were not computed, read at ";
  const size_t shown = std::min(places.size(), kShown);
  for (size_t i = 0; i < shown; ++i) out += (i > 0 ? ", " : "") + places[i];
  if (shown < places.size()) {
    out += " and " + model::plural(places.size() - shown, "place more", "places more") + " (all: --format json)";
  }
  return out + ".";
}

}  // namespace tapelens::peak
