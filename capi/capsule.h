/* Streams as CPython's capsules, which readers of Arrow in Python ask for. The library links no CPython: who loads it
 * by ctypes hands it two functions. All of these are to be called with the interpreter's lock (ctypes.PyDLL). */
#pragma once

#include "capi/tapelens.h"

#ifdef __cplusplus
extern "C" {
#endif

/* PyCapsule_New and PyCapsule_GetPointer. Before the others, once. */
TAPELENS_API void tapelens_use_capsules(void* (*make)(void* pointer, const char* name, void (*destructor)(void*)),
                                        void* (*pointer_of)(void* capsule, const char* name));
/* A new reference in *capsule, named "arrow_array_stream" or "arrow_schema". What nobody took out of it is released
 * with it. Null if Python could not make one: its exception is set. */
TAPELENS_API int tapelens_stream_capsule(struct tapelens_recording* recording,
                                         const struct tapelens_selection* selection, void** capsule, char** error);
TAPELENS_API int tapelens_schema_capsule(struct tapelens_recording* recording,
                                         const struct tapelens_selection* selection, void** capsule, char** error);

#ifdef __cplusplus
}
#endif
