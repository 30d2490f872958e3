/* Streams as CPython capsules, which Python readers of Arrow require. The library does not link CPython: the caller
 * passes it two functions by ctypes. Call all functions here with the GIL held (ctypes.PyDLL). */
#pragma once

#include "capi/tapelens.h"

#ifdef __cplusplus
extern "C" {
#endif

/* PyCapsule_New and PyCapsule_GetPointer. Call it once, before the others. */
TAPELENS_API void tapelens_use_capsules(void* (*make)(void* pointer, const char* name, void (*destructor)(void*)),
                                        void* (*pointer_of)(void* capsule, const char* name));
/* A new reference in *capsule, named "arrow_array_stream" or "arrow_schema". The capsule's destructor releases
 * content that no reader took. Null if Python failed to make one: its exception is set. */
TAPELENS_API int tapelens_stream_capsule(struct tapelens_recording* recording,
                                         const struct tapelens_selection* selection, void** capsule, char** error);
TAPELENS_API int tapelens_schema_capsule(struct tapelens_recording* recording,
                                         const struct tapelens_selection* selection, void** capsule, char** error);

#ifdef __cplusplus
}
#endif
