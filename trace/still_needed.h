// Processes the events of the older steps of a spool in time order, and finds those that later events depend on: the
// events that made, saved and named memory and nodes that are alive at the end of these steps. Used by ring.h.
//
// Addresses become allocations and nodes by the same rules as in process_sealer.h.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "trace/record.h"
#include "trace/types.h"

namespace tapelens::trace {

class StillNeeded {
 public:
  StillNeeded() = default;
  StillNeeded(const StillNeeded&) = delete;
  StillNeeded& operator=(const StillNeeded&) = delete;
  ~StillNeeded();

  // Records must stay valid for the lifetime of this object.
  void event(const RecordHeader* record, uint32_t lane, uint64_t ticks);
  // Records of a lane are missing: its open intervals are unknown from here on.
  void gap(uint32_t lane);
  void step_ended() { ++step_; }

  struct Event {
    const RecordHeader* record = nullptr;
    uint64_t order = 0;  // among all events
    uint64_t ticks = 0;
    uint32_t lane = 0;
  };
  std::vector<Event> events() const;  // in the order of time

  struct Peak {
    uint64_t bytes = 0, ticks = 0, step = 0;
  };
  // By device id, for devices that served an allocation. Steps count from 0 at the first event.
  const std::map<uint8_t, Peak>& peaks() const { return peaks_; }

  struct Lost {
    uint64_t count = 0, since = 0;  // ticks
  };
  const std::map<Loss, Lost>& lost() const { return lost_; }

 private:
  struct Item;
  using Ref = std::shared_ptr<Item>;
  // An interval or object that began and may have ended.
  struct Item {
    Event begin, end;         // null begin: it has no record; null end: it has not ended
    std::vector<Ref> within;  // the items that contain it, or that it refers to
    std::vector<Ref> own;     // the items that are needed while it is alive
    uint64_t bytes = 0;       // size of an allocation
    bool is_foreign = false;
    bool is_cut = false;  // it was open where records are missing
    uint32_t number = 0;  // number of the call of events() that visited it
  };
  struct Lane {
    std::vector<Ref> operators, module_calls, evaluations, backwards, optimizers, ranges;
  };
  using Place = std::pair<uint8_t, uint64_t>;  // device, address

  Ref item() const;  // a new item for the current event
  Ref item_here(const Lane& lane) const;
  void end(std::vector<Ref>& open);
  template <class Record>
  const RecordHeader* made_up(std::deque<Record>& of, Record record);
  void allocation(const Lane& lane, uint64_t address, uint64_t bytes);
  void foreign(const Lane& lane, const ForeignRecord& record);
  void end_allocation(uint64_t address, Event with);
  Ref allocation_at(uint64_t address) const;
  Ref storage_at(uint64_t address, uint64_t bytes);
  void node(const Lane& lane, const NodeRecord& record);
  void end_node(const Ref& node, Event with);
  void save(const SaveRecord& record);
  void held(const HeldRecord& record);
  void variable(const VariableRecord& record);
  void evaluation_end(Lane& lane);
  void release(const Ref& node, Event with);
  void role(const RoleRecord& record);
  void segment(const SegmentRecord& record);
  void outside(const OutsideRecord& record);
  void change(uint8_t device, uint64_t more);
  void lose(Loss kind);

  Event now_;
  uint64_t step_ = 0;
  std::map<uint32_t, Lane> lanes_;
  std::unordered_map<uint64_t, Ref> live_, nodes_;  // by address
  std::map<Place, Event> segments_;
  std::map<Place, std::vector<Event>> outside_;  // changes without the opposite change
  std::vector<Event> ended_outside_;
  std::map<uint8_t, Event> usage_;  // the last usage of each device
  std::map<uint8_t, uint64_t> bytes_;
  std::map<uint8_t, Peak> peaks_;
  std::map<Loss, Lost> lost_;
  // Records that the process did not write: ends that later events imply, parts of mappings.
  std::deque<FreeRecord> made_frees_;
  std::deque<NodeReleaseRecord> made_releases_;
  std::deque<SegmentRecord> made_segments_;
  mutable uint32_t taken_ = 0;
};

}  // namespace tapelens::trace
