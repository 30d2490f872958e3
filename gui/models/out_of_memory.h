// A request that a device had no memory for, in words, and how it is looked at.
#pragma once

#include <QString>
#include <optional>

#include "gui/models/session.h"

namespace tapelens::gui {

struct OutOfMemoryFacts {
  Time time;
  Bytes bytes;                // of the block
  Bytes allocated, reserved;  // by the allocator's own count
  std::optional<Bytes> free;  // on the device, as its driver said
  QString op, module, source;
};
OutOfMemoryFacts out_of_memory_facts(const Document& document, const Subject& subject, model::OutOfMemoryId request);
// "no memory for 64.0 MiB, asked for by aten::mm at train.py:5 train"
QString out_of_memory_words(const OutOfMemoryFacts& facts);

// What was alive then.
peak::Moment out_of_memory_moment(const Subject& subject, model::OutOfMemoryId request);
// A view that looks at that moment, and shows it.
View at_out_of_memory(const Session& session, model::OutOfMemoryId request);
// The one after that moment, or before it; none: there is none.
model::OutOfMemoryId next_out_of_memory(const Session& session, int by);

}  // namespace tapelens::gui
