/* What a program may say of itself: it finds tapelens_mark with dlsym(RTLD_DEFAULT, ...), as
 * python/tapelens/_recorded.py does, and calls it. The preload library has it; the probe answers. */
#pragma once

#ifdef __cplusplus
extern "C" {
#endif

/* The numbers stay: programs have them. */
enum tapelens_mark_kind {
  TAPELENS_MARK_ASK = 0,   /* only whether this process is recorded */
  TAPELENS_MARK_STEP = 1,  /* a training step ends here: from now on these are the borders of steps */
  TAPELENS_MARK_START = 2, /* what was before is not looked at; with --marked, nothing but memory was recorded */
  TAPELENS_MARK_STOP = 3,  /* the recording of this process ends */
};

/* 1 if this process is recorded; else 0, and nothing is done. */
int tapelens_mark(int kind);

/* For the probe, which finds it by its name as well. */
struct tapelens_marks {
  int (*answer)(int kind); /* called, if set */
  int started;             /* TAPELENS_MARK_START came before any operator, and no TAPELENS_MARK_STOP after it */
};
extern struct tapelens_marks tapelens_marks;

#ifdef __cplusplus
}
#endif
