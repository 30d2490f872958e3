// CUPTI: the subscriber, and its callbacks at the begin and end of CUDA calls, on their thread.
#include <pthread.h>

#include <cstdlib>
#include <cstring>

#include "simulated/device/activities.h"
#include "simulated/device/cupti.h"
#include "simulated/device/state.h"
#include "simulated/settings/variables.h"

using namespace tapelens::simulated;

namespace {

// CUpti_CallbackData
struct CallbackData {
  int site;  // 0 at the begin, 1 at the end
  const char* function;
  const void* parameters;
  const int* result;
  const char* symbol;
  void* context;
  uint32_t context_id;
  uint64_t* between;
  uint32_t correlation;
};
using Callback = void (*)(void* data, int domain, uint32_t number, const void* call);

constexpr int kDomains = 3;
constexpr uint32_t kMostFunctions = 1024;

// The subscriber. Callbacks read it without the lock, as in CUPTI: the data of a subscription stays valid until the
// next one.
pthread_mutex_t g_mutex = PTHREAD_MUTEX_INITIALIZER;
bool g_is_subscribed;
char g_subscriber[128];
Callback g_callback;
void* g_data;
bool g_is_wanted[kDomains][kMostFunctions];
uint32_t g_correlation;

struct Caller {
  const void* address = nullptr;
  const char* name = nullptr;
  uint32_t correlation = 0;  // 0: no call
};
thread_local Caller t_caller;

CuptiWanted read_wanted() {
  CuptiWanted wanted{};
  const char* text = std::getenv(TAPELENS_SIMULATED_CUPTI);
  while (text != nullptr && *text != '\0') {
    const char* comma = std::strchr(text, ',');
    const size_t length = comma != nullptr ? static_cast<size_t>(comma - text) : std::strlen(text);
    const auto is = [&](const char* word) { return std::strlen(word) == length && !std::strncmp(text, word, length); };
    wanted.reversed |= is("reversed");
    wanted.drops |= is("drops");
    wanted.unknown |= is("unknown");
    wanted.no_memory2 |= is("no_memory2");
    wanted.no_source |= is("no_source");
    wanted.no_callbacks |= is("no_callbacks");
    wanted.refused |= is("refused");
    wanted.held |= is("held");
    text = comma != nullptr ? comma + 1 : nullptr;
  }
  return wanted;
}

pthread_once_t g_wanted_once = PTHREAD_ONCE_INIT;
CuptiWanted g_wanted;

uint32_t new_correlation() { return __atomic_add_fetch(&g_correlation, 1, __ATOMIC_RELAXED); }

int subscribe(void** subscriber, Callback callback, void* data, const char* name, char* holder, size_t room) {
  if (cupti_wanted().refused) return kCuptiNotPermitted;
  const Lock lock(g_mutex);
  if (g_is_subscribed || cupti_wanted().held) {
    if (holder != nullptr && room > 0) {
      std::strncpy(holder, cupti_wanted().held ? "Nsight Systems" : g_subscriber, room - 1);
      holder[room - 1] = '\0';
    }
    return kCuptiHeld;
  }
  g_is_subscribed = true;
  std::strncpy(g_subscriber, name != nullptr ? name : "CUPTI", sizeof(g_subscriber) - 1);
  g_data = data;
  __atomic_store_n(&g_callback, callback, __ATOMIC_RELEASE);
  *subscriber = &g_is_subscribed;
  return kCuptiSuccess;
}

}  // namespace

const CuptiWanted& tapelens::simulated::cupti_wanted() {
  pthread_once(&g_wanted_once, [] { g_wanted = read_wanted(); });
  return g_wanted;
}

const void* tapelens::simulated::caller_address() { return t_caller.address; }
const char* tapelens::simulated::caller_name() { return t_caller.name; }
uint32_t tapelens::simulated::correlation() {
  return t_caller.correlation != 0 ? t_caller.correlation : new_correlation();
}

Call::Call(Function function, const void* return_address, const char* name)
    : function_(function), is_outermost_(t_caller.correlation == 0) {
  if (is_outermost_) t_caller = {return_address, name, new_correlation()};
  tell(0);
}

Call::Call(Function function, const void* parameters, const int* result)
    : function_(function), parameters_(parameters), result_(result), is_outermost_(t_caller.correlation == 0) {
  if (is_outermost_) t_caller = {nullptr, nullptr, new_correlation()};
  tell(0);
}

Call::~Call() {
  tell(1);
  if (is_outermost_) t_caller = {};
}

void Call::tell(int site) {
  if (function_.domain == 0 || !__atomic_load_n(&g_is_wanted[function_.domain][function_.number], __ATOMIC_RELAXED))
    return;
  const Callback callback = __atomic_load_n(&g_callback, __ATOMIC_ACQUIRE);
  if (callback == nullptr) return;
  const CallbackData data{site,    "", parameters_, site == 1 ? result_ : nullptr, nullptr,
                          nullptr, 1,  &between_,   t_caller.correlation};
  callback(g_data, function_.domain, function_.number, &data);
}

TAPELENS_CUDA int cuptiGetCallbackName(int, unsigned, const char** name) {
  *name = "";
  return kCuptiSuccess;
}

TAPELENS_CUDA int cuptiSubscribe(void** subscriber, Callback callback, void* data) {
  return subscribe(subscriber, callback, data, nullptr, nullptr, 0);
}

// The start of CUpti_SubscriberParams.
struct SubscriberParameters {
  size_t bytes;
  const char* name;
  char* holder;
  size_t holder_room;
};

TAPELENS_CUDA int cuptiSubscribe_v2(void** subscriber, Callback callback, void* data,
                                    const SubscriberParameters* parameters) {
  if (parameters == nullptr) return subscribe(subscriber, callback, data, nullptr, nullptr, 0);
  if (parameters->bytes < sizeof(SubscriberParameters)) return kCuptiInvalidParameter;
  return subscribe(subscriber, callback, data, parameters->name, parameters->holder, parameters->holder_room);
}

TAPELENS_CUDA int cuptiUnsubscribe(void* subscriber) {
  const Lock lock(g_mutex);
  if (subscriber != &g_is_subscribed || !g_is_subscribed) return kCuptiInvalidParameter;
  g_is_subscribed = false;
  std::memset(g_is_wanted, 0, sizeof(g_is_wanted));
  __atomic_store_n(&g_callback, nullptr, __ATOMIC_RELEASE);
  return kCuptiSuccess;
}

TAPELENS_CUDA int cuptiEnableCallback(uint32_t enable, void* subscriber, int domain, uint32_t number) {
  if (subscriber != &g_is_subscribed) return kCuptiInvalidParameter;
  if (cupti_wanted().no_callbacks) return kCuptiNotSupported;
  if (domain <= 0 || domain >= kDomains || number >= kMostFunctions) return kCuptiSuccess;  // no callbacks for it
  const Lock lock(g_mutex);
  __atomic_store_n(&g_is_wanted[domain][number], enable != 0, __ATOMIC_RELAXED);
  return kCuptiSuccess;
}
