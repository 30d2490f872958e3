#include "analyzer/tables/opened.h"

#include "analyzer/model/load.h"

namespace tapelens::tables {

trace::Result<std::shared_ptr<Opened>> Opened::open(const std::string& path, MakeChecks checks) {
  auto recording = trace::Recording::open(path);
  if (!recording) return recording.error();
  auto shared = std::make_shared<const Shared>(Shared{path, load_text(*recording), std::move(checks)});
  return std::make_shared<Opened>(std::move(*recording), std::move(shared));
}

Opened::Opened(trace::Recording recording, std::shared_ptr<const Shared> shared)
    : recording_(std::move(recording)), shared_(std::move(shared)), parts_(recording_.processes().size()) {
  of_shared_ = std::make_shared<const Part>(shared_, Process{}, 0);
}

std::shared_ptr<const Part> Opened::part(const Table& table, uint32_t process) {
  if (table.is_shared) return of_shared_;
  const std::lock_guard guard(lock_);
  std::shared_ptr<const Part> part = parts_[process].lock();
  if (!part) {
    last_.reset();  // not two processes in memory at once, unless a caller still holds the other
    part = std::make_shared<const Part>(shared_, load_process(recording_, shared_->text, trace::ProcessIndex{process}),
                                        process);
    parts_[process] = part;
  }
  last_ = part;
  return part;
}

}  // namespace tapelens::tables
