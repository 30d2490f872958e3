/* The variables of the environment with which a process is told what to record; empty is the same as not set. C too.
   rewrites/variables.h has those of rewriting. */
#pragma once

#define TAPELENS_SPOOL "TAPELENS_SPOOL"         /* the folder for the spools; without it nothing is recorded */
#define TAPELENS_EPOCH_NS "TAPELENS_EPOCH_NS"   /* CLOCK_MONOTONIC when the recording of all processes began */
#define TAPELENS_STEPS "TAPELENS_STEPS"         /* "A:B", "A:" or ":B": optimizer steps in full, else memory alone */
#define TAPELENS_MARKED "TAPELENS_MARKED"       /* memory alone until the program calls for more: tapelens_mark() */
#define TAPELENS_LAST "TAPELENS_LAST"           /* how many steps are kept: older ones are left out meanwhile */
#define TAPELENS_MAX_BYTES "TAPELENS_MAX_BYTES" /* of a process's spool */
#define TAPELENS_STACKS "TAPELENS_STACKS"       /* "python", "cpp", both or "none" */
#define TAPELENS_CUPTI "TAPELENS_CUPTI"         /* memory outside of PyTorch's allocator, by CUPTI */
#define TAPELENS_CHECKSUMS "TAPELENS_CHECKSUMS" /* of gradients and parameters, at each step */
#define TAPELENS_VALUES "TAPELENS_VALUES"       /* the folder for the gradients themselves */
#define TAPELENS_FLOAT64 "TAPELENS_FLOAT64"     /* beside TAPELENS_VALUES: those of every operator run on float64 too */
#define TAPELENS_ACTIVATION_BUDGET "TAPELENS_ACTIVATION_BUDGET" /* of torch.compile's partitioner: 0 to 1 */
#define TAPELENS_REFERRERS "TAPELENS_REFERRERS"                 /* the variables that have tensors, once a step */
#define TAPELENS_BUILT_PROBES "TAPELENS_BUILT_PROBES" /* the folder of probes that `tapelens build-probe` made */
#define TAPELENS_QUIET "TAPELENS_QUIET"               /* no message in the process, of rewriting either */

/* No variable: a file in the folder for the spools, or in that of TAPELENS_TALLY. The command line makes it, with room
   for one sentence on the disk. The first process that cannot be recorded, or rewritten, writes the reason: '1' if its
   standard error has the sentence, else '0', and then the sentence itself. */
#define TAPELENS_EXPLANATION "explanation"
#define TAPELENS_EXPLANATION_BYTES 2048
