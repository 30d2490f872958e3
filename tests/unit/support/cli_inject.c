/* Stands where the preload library stands, so that `record` can be tested without LibTorch: it does nothing. */
int tapelens_test_inject(void) { return 1; }
