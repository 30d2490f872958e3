/* What the parts of the preload library share. */
#pragma once

/* A function of a library that is loaded already, or null. */
__attribute__((visibility("hidden"))) void* tapelens_in_library(const char* library, const char* name);
