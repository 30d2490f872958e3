// Processes the events of the older steps of a spool in time order, and finds those that later events depend on: the
// events that made, saved and named memory and nodes that are alive at the end of these steps. Used by ring.h.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "trace/address_book.h"
#include "trace/record.h"
#include "trace/types.h"

namespace tapelens::trace {

class StillNeeded {
 public:
  StillNeeded() = default;
  StillNeeded(const StillNeeded&) = delete;
  StillNeeded& operator=(const StillNeeded&) = delete;
  ~StillNeeded();

  // `in_spool`: the record, or its short form (short_form.h), which must stay valid for the lifetime of this object.
  void event(const RecordHeader* record, uint32_t lane, uint64_t ticks, const RecordHeader* in_spool);
  // Records of a lane are missing: its open intervals are unknown from here on.
  void gap(uint32_t lane);
  void step_ended() { ++step_; }

  struct Event {
    const RecordHeader* record = nullptr;  // as in the spool: possibly the short form
    uint64_t order = 0;                    // among all events
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
    bool is_cut = false;      // it was open where records are missing
    uint32_t number = 0;      // number of the call of events() that visited it
  };
  struct Lane {
    std::vector<Ref> operators, module_calls, evaluations, backwards, optimizers, ranges;
  };
  using Book = AddressBook<StillNeeded, Ref, Ref>;
  friend Book;
  using Place = std::pair<uint8_t, uint64_t>;  // device, address

  Ref item() const;  // a new item for the current event
  Ref item_here(const Lane& lane) const;
  void end(std::vector<Ref>& open);
  template <class Record>
  const RecordHeader* synthetic(std::deque<Record>& of, Record record);
  Event just_before(const RecordHeader* record) const;
  Ref storage_at(uint64_t address, uint64_t bytes);
  void node(const Lane& lane, const NodeRecord& record);
  void node_release(const NodeReleaseRecord& record);
  void evaluation_begin(Lane& lane, const EvaluationRecord& record);
  void save(const SaveRecord& record);
  void held(const HeldRecord& record);
  void variable(const VariableRecord& record);
  void evaluation_end(Lane& lane);
  void role(const RoleRecord& record);
  void segment(const SegmentRecord& record);
  void outside(const OutsideRecord& record);
  void virtual_memory(const VirtualMemoryRecord& record);
  void memory_pool(const MemoryPoolRecord& record);
  void count_lost(Loss kind);

  // The book's follower.
  void unmatched() { count_lost(Loss::unmatched_event); }
  void freed(const Ref& allocation) { allocation->end = now_; }
  void freed_unseen(const Ref& allocation, uint64_t address, uint8_t device);
  void died_unseen(const Ref& node, uint64_t address);
  void peaked(uint8_t device, uint64_t bytes) { peaks_[device] = bytes == 0 ? Peak{} : Peak{bytes, now_.ticks, step_}; }

  Event now_;
  uint64_t step_ = 0;
  std::map<uint32_t, Lane> lanes_;
  Book book_{*this};
  std::map<Place, Event> segments_;
  std::map<Place, std::vector<Event>> outside_;  // changes without the opposite change
  std::vector<Event> ended_outside_;
  // Physical memory of the driver lives while a handle or a mapping of it exists.
  struct Physical {
    std::map<uint64_t, Event> events;  // by order
    std::vector<uint64_t> retained;    // the orders of the events that retained it
    int64_t references = 0;            // negative: its creation is reported later
  };
  void refer(uint64_t handle, int64_t references);            // by the current event
  void cancel(uint64_t handle, uint64_t order);               // the reference of an earlier event
  std::map<uint64_t, Physical> physical_;                     // by handle
  std::map<uint64_t, std::pair<uint64_t, uint64_t>> mapped_;  // address to handle and order, of live mappings
  std::map<Place, Event> pools_;                              // the last state of each pool
  std::map<uint8_t, Event> usage_;                            // the last usage of each device
  std::map<uint8_t, Peak> peaks_;
  std::map<Loss, Lost> lost_;
  // Records that the process did not write: ends that later events imply, parts of mappings.
  std::deque<FreeRecord> made_frees_;
  std::deque<NodeReleaseRecord> made_releases_;
  std::deque<SegmentRecord> made_segments_;
  mutable uint32_t taken_ = 0;
};

}  // namespace tapelens::trace
