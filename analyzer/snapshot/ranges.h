// The ranges of a snapshot: torch.profiler.record_function, and the notes of the program or the compiler during
// allocations.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "analyzer/snapshot/snapshot.h"
#include "trace/table_sink.h"

namespace tapelens::snapshot {

class Ranges {
 public:
  // Call it for each event with a note, with times that do not decrease. A range lasts from the first event with a note
  // to the last one before an event with a different note.
  void noted(size_t device, const Note& note, trace::Time when);
  // A range lasts from the begin of an annotation to its end.
  void annotated(const Annotation& annotation, trace::Time when);
  // Call it once, after the last event. Writes the ranges in the order of their ends.
  void write(trace::ProcessSinks& tables);

 private:
  struct Range {
    trace::Time begin, end;
    StringId name;
  };
  void note(Range& open, StringId name, trace::Time when);

  std::vector<Range> ranges_;
  struct OfDevice {
    Range compile_context, user_metadata;
  };
  std::map<size_t, OfDevice> noted_;
  std::map<std::pair<int64_t, StringId>, std::vector<trace::Time>> annotated_;  // begins
};

}  // namespace tapelens::snapshot
