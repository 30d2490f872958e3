/* A program's marks in its own recording. The program finds tapelens_mark with dlsym(RTLD_DEFAULT, ...), as
 * python/tapelens/_recorded.py does, and calls it. The preload library defines it; the probe implements it. */
#pragma once

#ifdef __cplusplus
extern "C" {
#endif

/* Never change these numbers: programs contain them. */
enum tapelens_mark_kind {
  TAPELENS_MARK_ASK = 0,   /* no effect: only returns whether this process is recorded */
  TAPELENS_MARK_STEP = 1,  /* a training step ends here: from now on, only these marks end steps */
  TAPELENS_MARK_START = 2, /* analysis starts here; with --marked, only memory was recorded before */
  TAPELENS_MARK_STOP = 3,  /* the recording of this process ends */
};

/* Returns 1 if this process is recorded; otherwise returns 0 and has no effect. */
int tapelens_mark(int kind);

/* For the probe, which also finds it by symbol. */
struct tapelens_marks {
  int (*answer)(int kind); /* called, if set */
  int started;             /* TAPELENS_MARK_START came before any operator, without a later TAPELENS_MARK_STOP */
};
extern struct tapelens_marks tapelens_marks;

#ifdef __cplusplus
}
#endif
