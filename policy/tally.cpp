#include "policy/tally.h"

#include "base/mutex.h"

namespace tapelens::policy {

namespace {

template <size_t kBytes>
void copy_text(char (&to)[kBytes], std::string_view text) {
  to[text.copy(to, kBytes - 1)] = '\0';
}

TallyRow* new_row(TallyFile& file, std::string_view rewrite, Level level, std::string_view reason) {
  const uint32_t number = file.rows.load(std::memory_order_relaxed);
  if (number == kTallyRows) return nullptr;
  TallyRow& row = file.row[number];
  copy_text(row.rewrite, rewrite);
  copy_text(row.reason, reason);
  row.level = static_cast<uint32_t>(level);
  file.rows.store(number + 1, std::memory_order_release);
  return &row;
}

}  // namespace

Tally::Tally(TallyFile& file) : file_(file) { file_.magic = kTallyMagic; }

void Tally::count(std::string_view rewrite, Level level, std::string_view reason, uint64_t place, uint64_t bytes,
                  uint64_t kept) {
  const base::MutexLock guard(lock_);
  auto [at, is_new] = rows_.try_emplace({std::string(rewrite), level, std::string(reason)});
  Row& counted = at->second;
  if (is_new) counted.row = new_row(file_, rewrite, level, reason);
  if (counted.row == nullptr) {
    file_.left_out.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  counted.row->times.fetch_add(1, std::memory_order_relaxed);
  counted.row->bytes.fetch_add(bytes, std::memory_order_relaxed);
  counted.row->kept.fetch_add(kept, std::memory_order_relaxed);
  if (counted.places.insert(place).second) counted.row->sites.fetch_add(1, std::memory_order_relaxed);
}

void Tally::count_host_bytes(uint64_t bytes) {
  uint64_t most = file_.host_bytes.load(std::memory_order_relaxed);
  while (bytes > most && !file_.host_bytes.compare_exchange_weak(most, bytes, std::memory_order_relaxed)) {
  }
}

}  // namespace tapelens::policy
