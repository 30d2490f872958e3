// Describes one allocation: its holder, the operator that made it, its saves and uses, and its release.
#pragma once

#include <QString>
#include <vector>

#include "gui/models/document.h"

namespace tapelens::gui {

struct AllocationFacts {
  AllocationId id;
  Bytes bytes;
  Interval life;  // ends with the recording if it was not freed
  bool is_freed = false;
  QString what;                      // "ConvolutionBackward0.input", "parameter layer1.0.weight", "the program itself"
  QString layout;                    // "float32 [8, 64, 56, 56]", if a save saw it
  QString op, module;                // that made it; empty: unknown
  QString source;                    // "train.py:42 forward"
  QString block;                     // "10.0 MiB at 0x1000000, stream 7": the block of the device's allocator
  std::vector<report::Frame> stack;  // innermost first

  struct Save {
    Time time, released;  // released: kNever if kept until the recording ended
    QString field;        // "ConvolutionBackward0.input"
    QString op;           // that made the node
  };
  std::vector<Save> saves;  // in the order of time
  struct Use {
    Interval when;
    QString op;
    bool is_backward = false;
  };
  std::vector<Use> uses;  // in the order of time; only if Part::relations exists
};

// Describes at most `most` saves and uses, because a weight may have millions.
AllocationFacts facts_of(const Document& document, const Subject& subject, AllocationId allocation, bool has_relations,
                         size_t most = 200);

QString bytes_words(Bytes bytes);
QString signed_bytes(Bytes change);  // "+24.1 MiB", "−24.1 MiB", "0 B"
QString address_words(uint64_t address);
// "default stream", "stream 0x7, graph pool 1, pool 2": the stream and pools of a segment.
QString pool_words(uint64_t stream, uint32_t graph_pool, uint32_t user_pool);
QString time_words(Time time);

}  // namespace tapelens::gui
