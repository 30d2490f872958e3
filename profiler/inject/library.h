/* Shared by the parts of the preload library. */
#pragma once

/* A function of a loaded library, or null. */
__attribute__((visibility("hidden"))) void* tapelens_in_library(const char* library, const char* name);
