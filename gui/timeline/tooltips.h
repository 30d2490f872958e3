// Tool tips of the timeline, as rich text.
#pragma once

#include <QString>

#include "gui/timeline/scene.h"

namespace tapelens::gui {

QString allocation_tip(const Session& session, AllocationId allocation);
QString small_tip(const Subject& subject);  // tip of the line that indicates small allocations
QString column_tip(const Scene& scene, size_t column);
QString subject_tip(const Subject& subject);  // tip of a subject that is not the current one
QString out_of_memory_tip(const Session& session, model::OutOfMemoryId request);
QString step_tip(const Session& session, const Interval& step, Time time);
QString span_tip(const Session& session, uint32_t span);

}  // namespace tapelens::gui
