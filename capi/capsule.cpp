#include "capi/capsule.h"

#include <cstdlib>
#include <cstring>

namespace {

void* (*g_make)(void*, const char*, void (*)(void*)) = nullptr;
void* (*g_pointer_of)(void*, const char*) = nullptr;

template <class Struct>
constexpr const char* kName = nullptr;
template <>
constexpr const char* kName<ArrowArrayStream> = "arrow_array_stream";
template <>
constexpr const char* kName<ArrowSchema> = "arrow_schema";

template <class Struct>
void let_go(Struct* of) {
  if (of->release != nullptr) of->release(of);
  std::free(of);
}

template <class Struct>
void destroy(void* capsule) {
  if (auto* of = static_cast<Struct*>(g_pointer_of(capsule, kName<Struct>))) let_go(of);
}

// A capsule with a malloc()ed struct that `fill` initializes.
template <class Struct, class Fill>
int in_capsule(void** capsule, char** error, Fill fill) {
  *capsule = nullptr;
  auto* of = static_cast<Struct*>(std::calloc(1, sizeof(Struct)));
  if (of == nullptr || g_make == nullptr) {
    if (error != nullptr) *error = strdup("there is not enough memory for a capsule");
    std::free(of);
    return TAPELENS_FAILED;
  }
  const int status = fill(of);
  if (status == TAPELENS_OK) *capsule = g_make(of, kName<Struct>, destroy<Struct>);
  if (*capsule == nullptr) let_go(of);
  return status;
}

}  // namespace

void tapelens_use_capsules(void* (*make)(void*, const char*, void (*)(void*)),
                           void* (*pointer_of)(void*, const char*)) {
  g_make = make;
  g_pointer_of = pointer_of;
}

int tapelens_stream_capsule(tapelens_recording* recording, const tapelens_selection* selection, void** capsule,
                            char** error) {
  return in_capsule<ArrowArrayStream>(
      capsule, error, [&](ArrowArrayStream* out) { return tapelens_stream(recording, selection, out, error); });
}

int tapelens_schema_capsule(tapelens_recording* recording, const tapelens_selection* selection, void** capsule,
                            char** error) {
  return in_capsule<ArrowSchema>(capsule, error,
                                 [&](ArrowSchema* out) { return tapelens_schema(recording, selection, out, error); });
}
