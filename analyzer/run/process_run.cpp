#include "analyzer/run/process_run.h"

#include <utility>

namespace tapelens::run {

DeviceRun::DeviceRun(const ProcessRun& of, model::DeviceId id) : of_(of), analysis_(of.analysis(), id) {}

std::string_view DeviceRun::name() const { return of_.text().string(of_.text().device_name[id()]); }

const model::DeviceTraits& DeviceRun::traits() const { return of_.analysis().traits(id()); }

ProcessRun::ProcessRun(std::shared_ptr<const model::Text> text, model::Process process, trace::ProcessIndex index)
    : text_(std::move(text)), process_(std::move(process)), index_(index), analysis_(process_, *text_) {
  for (uint32_t id = 0; id <= text_->device_name.rows(); ++id) devices_.emplace_back(*this, model::DeviceId{id});
}

std::vector<const DeviceRun*> ProcessRun::devices() const {
  std::vector<const DeviceRun*> used;
  for (const peak::DevicePeak& found : analysis_.devices()) used.push_back(&device(found.device));
  return used;
}

}  // namespace tapelens::run
