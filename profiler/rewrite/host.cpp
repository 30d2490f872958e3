#include "profiler/rewrite/host.h"

#include <dlfcn.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <utility>

#include "base/mutex.h"
#include "profiler/observe/cuda_allocator.h"
#include "profiler/observe/modules.h"
#include "profiler/observe/observe.h"
#include "profiler/rewrite/arguments.h"
#include "profiler/rewrite/attempt.h"
#include "profiler/rewrite/autocast_copies.h"
#include "profiler/rewrite/freed_blocks.h"
#include "profiler/rewrite/guards.h"
#include "profiler/rewrite/offload.h"
#include "profiler/rewrite/rematerialization.h"
#include "profiler/rewrite/saved_tensor_hook.h"

namespace tapelens::rewrite {

namespace {

// Each sweep checks versions whose storages the program still holds; if there are many, only some of them.
constexpr size_t kAskedAtOnce = 32;

struct Host {
  std::vector<const Rewrite*> rewrites;
  base::Mutex lock;
  std::map<std::pair<std::string, std::string>, Candidates> by_field TAPELENS_GUARDED_BY(lock);
  RewriteInfo by_operator{"", Level::recomputed, ""}, by_copy = by_operator;  // the rewrites that recomputations belong
                                                                              // to
  std::optional<RewriteInfo> by_offload;                                      // requested somewhere
  bool recomputes = false;
};
Host& host() {
  static auto* made = new Host;
  return *made;
}

void add(const RewritePlugin& plugin) {
  for (uint32_t i = 0; i < plugin.count; ++i) {
    attempt({"rewrite-plugin", Level::encoded}, [&] {
      Host& h = host();
      const Rewrite* rewrite = plugin.make(i);
      const RewriteInfo info = rewrite->info();
      const bool is_wanted = wants(info.id, info.level);
      if (is_wanted) h.rewrites.push_back(rewrite);
      if (is_wanted && rewrite->offloads() && !h.by_offload) h.by_offload = info;
      const Recomputes recomputes = rewrite->recomputes();
      RewriteInfo& name = recomputes == Recomputes::operators ? h.by_operator : h.by_copy;
      if (recomputes == Recomputes::nothing || !name.id.empty()) return;
      name = info;
      h.recomputes |= is_wanted;
    });
  }
}

bool is_same_minor(std::string_view a, std::string_view b) {
  const auto minor = [](std::string_view v) { return v.substr(0, v.find('.', v.find('.') + 1)); };
  return minor(a) == minor(b);
}

// Leaves out a plugin that does not match, and prints one line.
void load(const std::string& path) {
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);  // never closed: its hooks live in graphs
  if (library == nullptr) {
    observe::say(path + ": cannot be loaded: " + dlerror());
    return;
  }
  const auto entry = reinterpret_cast<const RewritePlugin* (*)()>(dlsym(library, "tapelens_rewrite_plugin"));
  const RewritePlugin* plugin = entry != nullptr ? entry() : nullptr;
  if (plugin == nullptr) {
    observe::say(path + ": has no rewrites (TAPELENS_REWRITES registers them)");
  } else if (plugin->interface != RewriteInterface::kVersion) {
    observe::say(path + ": was built for interface version " + std::to_string(plugin->interface) +
                 ", this Tapelens has version " + std::to_string(RewriteInterface::kVersion));
  } else if (!is_same_minor(plugin->built_for, TORCH_VERSION)) {
    observe::say(path + ": was built for PyTorch " + plugin->built_for + ", this is " TORCH_VERSION);
  } else {
    add(*plugin);
  }
}

bool is_asked_for(std::string_view id, Level level, const Save& save, bool whole_storage) {
  if (settings().has(id, static_cast<int>(level))) return true;
  return std::ranges::any_of(settings().sites, [&](const Site& site) {
    if (site.rewrite != id) return false;
    if (!site.op.empty() && site.op != save.outer_operator && site.op != save.operator_name) return false;
    // If several fields keep one storage, the plan names the first.
    if (!whole_storage &&
        ((!site.node.empty() && site.node != save.type) || (!site.field.empty() && site.field != save.field))) {
      return false;
    }
    return is_here(site);
  });
}

// Calls and writes are followed for rematerialization.
Attempted following() { return {recomputation(true).id, Level::recomputed}; }

void offer_save(ThreadState& state, torch::autograd::SavedVariable& saved, const Save& save,
                const Candidates& candidates, Attempted& asked);

// Whether the save may go to the host's memory, if nothing else releases it. Any other reason than the settings is
// counted.
bool may_offload(const Save& save, const RewriteSite& site, const char* reason_against) {
  const RewriteInfo* const info = offloading();
  const uint64_t bytes = save.tensor.storage().nbytes();
  if (info == nullptr || bytes < settings().offload_min_bytes() || !is_asked_for(info->id, info->level, save, true))
    return false;
  if (save.tensor.is_leaf() && save.tensor.requires_grad()) return false;  // a parameter, which the program keeps
  if (!streams::has_streams(save.tensor.device())) reason_against = "it is not on a GPU";
  if (reason_against != nullptr) skipped(info->id, info->level, site, reason_against, bytes);
  return reason_against == nullptr;
}

}  // namespace

const RewriteInfo& recomputation(bool by_operator) { return by_operator ? host().by_operator : host().by_copy; }

const RewriteInfo* offloading() { return host().by_offload ? &*host().by_offload : nullptr; }

std::span<const Rewrite* const> wanted_rewrites() { return host().rewrites; }

bool start(std::span<const RewriteEntry> builtin) {
  if (!settings().on) return false;
  for (const RewriteEntry entry : builtin) add(*entry());
  for (const std::string& path : settings().plugins) load(path);
  if (!observe::g_records) reuse_freed_blocks();
  return true;
}

bool wants_calls() { return follows_calls() || observe::uses_cuda(); }
bool follows_calls() { return host().recomputes; }

const Candidates* candidates(std::string_view type, std::string_view field) {
  static const auto* none = new Candidates;
  const Candidates* found = none;
  attempt(following(), [&] {
    Host& h = host();
    const base::MutexLock guard(h.lock);
    const auto [at, is_new] = h.by_field.try_emplace({std::string(type), std::string(field)});
    found = &at->second;
    if (!is_new) return;
    for (const Rewrite* rewrite : h.rewrites) {
      const RewriteInfo info = info_of(*rewrite);
      attempt({info.id, info.level}, [&] {
        if (rewrite->may_match(type, field)) at->second.push_back(rewrite);
      });
    }
    std::ranges::stable_sort(at->second, {}, [](const Rewrite* r) { return r->info().level; });
  });
  return found;
}

void offer(ThreadState& state, torch::autograd::SavedVariable& saved, const Save& save, const Candidates& candidates) {
  Attempted asked = following();
  asked.site = {&save.node, save.type, save.field, save.index, save.operator_name};
  attempt(asked, [&] { offer_save(state, saved, save, candidates, asked); });
}

Call begin(const RepeatableOperator& op, const at::RecordFunction& function) {
  Call call;
  attempt(following(), [&] { call = begin_call(op, function); });
  return call;
}

void end(Call call, const at::RecordFunction& function, bool is_outermost) {
  if (call.op != nullptr) attempt(following(), [&] { end_call(std::move(call), function, is_outermost); });
}

void product(recompute::Product product, const at::RecordFunction& function) {
  attempt(following(), [&] { count_product(product, function); });
}

namespace {

// `asked`: the rewrite that an exception counts against.
void offer_save(ThreadState& state, torch::autograd::SavedVariable& saved, const Save& save,
                const Candidates& candidates, Attempted& asked) {
  if (!is_plain(save.tensor) || save.tensor.storage().nbytes() < settings().min_bytes || !is_plain_moment()) return;
  const c10::Device device = save.tensor.device();
  if (streams::has_streams(device) && streams::stream_use() != streams::StreamUse::ordinary)
    touch(*save.tensor.storage().unsafeGetStorageImpl(), streams::stream_use(), false);
  const char* const reason_against =
      streams::has_streams(device) ? touched(*save.tensor.storage().unsafeGetStorageImpl()) : nullptr;
  const Rewrite* encodes = nullptr;
  bool may_encode = false;
  for (const Rewrite* rewrite : candidates) {
    const RewriteInfo info = info_of(*rewrite);
    asked.rewrite = info.id;
    asked.level = info.level;
    if (!rewrite->is_for(device.type()) || !rewrite->matches(save)) continue;
    if (reason_against != nullptr) {
      skipped(info.id, info.level, asked.site, reason_against, save.tensor.storage().nbytes());
      return;
    }
    if (info.level == Level::never_read) {
      if (!is_asked_for(info.id, info.level, save, false)) continue;
      saved.register_hooks(std::make_unique<SavedTensorHook>(save, SavedAs(saved), rewrite, version_of(save.tensor),
                                                             observe::place_now(), versions::Ways{}));
      return;
    }
    if (encodes == nullptr) {
      encodes = rewrite;
      may_encode = is_asked_for(info.id, info.level, save, true);
    }
  }
  asked.rewrite = following().rewrite;
  asked.level = following().level;
  const bool offloads = may_offload(save, asked.site, reason_against);
  StorageVersionPtr version =
      host().recomputes || encodes != nullptr || offloads ? version_of(save.tensor) : find_version(save.tensor);
  if (version == nullptr) return;
  if (!is_steady(*save.tensor.storage().unsafeGetStorageImpl())) return;
  const std::string_view rematerialized_by = version->rematerialized_by();
  if (encodes == nullptr && rematerialized_by.empty() && !offloads) {
    version->kept_by_save();
    return;
  }
  // A copy of a kept tensor needs no operator to recompute: enabling operators enables copies, too.
  const bool may_rematerialize =
      !rematerialized_by.empty() && (is_asked_for(rematerialized_by, Level::recomputed, save, true) ||
                                     is_asked_for(recomputation(true).id, Level::recomputed, save, true));
  const bool is_first = version->hooks() == 0;
  saved.register_hooks(std::make_unique<SavedTensorHook>(save, SavedAs(saved), encodes, version, observe::place_now(),
                                                         versions::Ways{may_encode, may_rematerialize, offloads}));
  if (is_first) state.waiting.push_back(std::move(version));
}

}  // namespace

namespace {

// `most`: number of the newest versions to check.
void sweep_waiting(ThreadState& state, size_t most) {
  auto& waiting = state.waiting;
  // The newest are the most likely to be free. Check them each time, and one of the others in turn.
  const size_t newest = waiting.size() > most ? waiting.size() - most : 0;
  size_t older = newest > 0 ? ++state.sweeps % newest : 0;
  for (size_t i = waiting.size(); i-- > 0;) {
    if (i < newest && i != older) continue;
    const StorageVersionPtr version = waiting[i];
    if (!version->try_release()) continue;
    waiting.erase(waiting.begin() + static_cast<std::ptrdiff_t>(i));
    if (version->is_leaving()) state.leaving.add(version);
  }
  state.leaving.advance(waiting);
}

}  // namespace

void sweep(ThreadState& state) {
  autocast_copies::forget_gone_sometimes();
  if (!state.waiting.empty()) sweep_waiting(state, kAskedAtOnce);
}

// Release tensors that variables held until now, before backward needs memory.
void backward_begins(ThreadState& state) { sweep_waiting(state, state.waiting.size()); }

void begin_write(ThreadState& state, const c10::IValue& argument) {
  attempt(following(), [&] {
    each_storage(argument, [&](const c10::StorageImpl& storage) { note_write(storage, state.written); });
  });
}

void begin_collective(const c10::IValue& argument) {
  attempt(following(), [&] { each_storage(argument, leave_alone); });
}

void touch(streams::StreamUse use, const c10::IValue& argument, bool is_output) {
  attempt(following(),
          [&] { each_storage(argument, [&](c10::StorageImpl& storage) { touch(storage, use, is_output); }); });
}

void begin_variable_change(const at::Tensor& variable) {
  if (variable.defined() && storage_of(variable) != nullptr) attempt(following(), [&] { variable_changes(variable); });
}

bool sees_addresses() { return kSeesAddresses; }

void address_leaves(const at::Tensor& tensor) {
  if (has_plain_keys(tensor) && storage_of(tensor) != nullptr) attempt(following(), [&] { expose(tensor); });
}

void watch_outputs(c10::ArrayRef<c10::IValue> outputs) {
  if constexpr (!kSeesAddresses) return;
  attempt(following(), [&] {
    for (const c10::IValue& output : outputs) {
      each_tensor(output, [](const at::Tensor& tensor) {
        // Storages of other tensor types may have no allocator to query, such as that of a zero tensor.
        if (has_plain_keys(tensor) && tensor.storage().nbytes() >= least_source()) watch_address(*storage_of(tensor));
      });
    }
  });
}

void begin_sharing(const c10::IValue& argument) {
  attempt(following(), [&] { each_storage(argument, forget_watch); });
}

void begin_resize(c10::StorageImpl& storage) {
  // With 0 bytes it gets its first memory: no version of it is known.
  if (storage.nbytes() != 0) attempt(following(), [&] { leave_alone(storage); });
}

void end_resize(c10::StorageImpl& storage) {
  attempt(following(), [&] { forget_sharing(storage); });
}

void end_writes(ThreadState& state, size_t since) {
  for (size_t i = since; i < state.written.size(); ++i) state.written[i]->overwritten();
  if (since < state.written.size()) state.written.resize(since);
}

void backward_ended(ThreadState& state) {
  sweep(state);
  attempt(following(), [&] {
    std::erase_if(state.waiting, [](const auto& version) { return version->hooks() == 0; });
    state.leaving.forget_unused();
    versions::backward_ended();
    budget().backward_ended();
    forget_dead_versions();
    autocast_copies::forget_gone();
  });
}

}  // namespace tapelens::rewrite
