#include "analyzer/tables/opened.h"

#include <utility>

namespace tapelens::tables {

trace::Result<std::shared_ptr<Opened>> Opened::open(const std::string& path, MakeChecks checks) {
  auto run = run::Run::open(path);
  if (!run) return run.error();
  return std::make_shared<Opened>(std::move(*run), std::move(checks));
}

Opened::Opened(run::Run run, MakeChecks checks)
    : run_(std::move(run)), checks_(std::move(checks)), parts_(run_.processes()) {}

std::shared_ptr<const Part> Opened::part(const Table& table, uint32_t process) {
  const auto make = [&](std::shared_ptr<const run::ProcessRun> of) {
    return std::make_shared<const Part>(std::move(of), run_.file(), checks_);
  };
  if (!table.is_shared) return parts_.get(process, [&] { return make(run_.process(process)); });
  return of_shared_.get([&] {
    return make(std::make_shared<const run::ProcessRun>(run_.shared_text(), Process{}, trace::ProcessIndex{}));
  });
}

}  // namespace tapelens::tables
