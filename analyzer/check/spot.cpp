#include "analyzer/check/spot.h"

#include <utility>

namespace tapelens::check {

std::optional<Spot> spot_of(const Context& context, FrameId frame) {
  const Text& text = context.text;
  if (context.sources == nullptr || !frame || text.frame_line[frame] == 0) return std::nullopt;
  auto content = recorded_source(text, text.string(text.frame_file[frame]), *context.sources);
  if (!content) return std::nullopt;
  const std::string path = in_repository(text.string(text.frame_file[frame]), *context.sources);
  auto source = PythonSource::parse(std::move(*content));
  if (!source) return std::nullopt;
  const size_t statement = source->at(text.frame_line[frame] - 1);
  if (statement == source->statements().size() || !source->statements()[statement].is_alone) return std::nullopt;
  return Spot{path, std::move(*source), statement, frame};
}

}  // namespace tapelens::check
