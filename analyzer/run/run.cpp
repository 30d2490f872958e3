#include "analyzer/run/run.h"

#include <utility>

#include "analyzer/model/load.h"
#include "analyzer/run/on_demand.h"

namespace tapelens::run {

struct Run::State {
  State(trace::Recording opened, std::string path)
      : recording(std::move(opened)), file(std::move(path)), processes(recording.processes().size()) {}

  // Processes share it: their tables may outlive the run.
  const std::shared_ptr<const model::Text>& shared_text() const {
    return text.get([&] { return std::make_shared<const model::Text>(model::load_text(recording)); });
  }

  trace::Recording recording;
  std::string file;
  peak::Lazy<std::shared_ptr<const model::Text>> text;
  OnDemand<ProcessRun> processes;
};

trace::Result<Run> Run::open(const std::string& path) {
  auto recording = trace::Recording::open(path);
  if (!recording) return recording.error();
  return Run(std::move(*recording), path);
}

Run::Run(trace::Recording recording, std::string file)
    : state_(std::make_shared<State>(std::move(recording), std::move(file))) {}

const trace::Recording& Run::recording() const { return state_->recording; }

const std::string& Run::file() const { return state_->file; }

const std::shared_ptr<const model::Text>& Run::shared_text() const { return state_->shared_text(); }

std::shared_ptr<const ProcessRun> Run::process(uint32_t index) const {
  return state_->processes.get(index, [&] {
    const std::shared_ptr<const model::Text>& text = state_->shared_text();
    const trace::ProcessIndex at{index};
    return std::make_shared<const ProcessRun>(text, model::load_process(state_->recording, *text, at), at);
  });
}

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
