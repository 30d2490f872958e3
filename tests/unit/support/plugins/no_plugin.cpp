// A shared library, and no plugin.
extern "C" __attribute__((visibility("default"))) int tapelens_nothing() { return 0; }
