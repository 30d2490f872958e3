// Describes a failed request for memory, and opens views of it.
#pragma once

#include <QString>
#include <optional>

#include "gui/models/session.h"

namespace tapelens::gui {

struct OutOfMemoryFacts {
  Time time;
  Bytes bytes;                // bytes of the requested block
  Bytes allocated, reserved;  // as the allocator counts them
  std::optional<Bytes> free;  // on the device, as the driver reports it
  QString op, module, source;
};
OutOfMemoryFacts out_of_memory_facts(const Document& document, const Subject& subject, model::OutOfMemoryId request);
// The text of a failed request, with its bytes, operator and source line.
QString out_of_memory_words(const OutOfMemoryFacts& facts);

// The time of the request, for its peak set.
peak::Moment out_of_memory_moment(const Subject& subject, model::OutOfMemoryId request);
// A view that shows the time of the request.
ViewState at_out_of_memory(const Session& session, model::OutOfMemoryId request);
// The nearest failed request after the view's time (`by` > 0) or before it; none at either end.
model::OutOfMemoryId next_out_of_memory(const Session& session, int by);

}  // namespace tapelens::gui
