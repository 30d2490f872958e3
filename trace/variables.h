/* The environment variables that configure the recording of a process (recording_options.h). An empty variable counts
   as not set. This header is also C. policy/variables.h has the variables of rewriting. */
#pragma once

#define TAPELENS_SPOOL "TAPELENS_SPOOL"       /* the folder for the spools; without it nothing is recorded */
#define TAPELENS_EPOCH_NS "TAPELENS_EPOCH_NS" /* CLOCK_MONOTONIC when the recording of all processes began */
#define TAPELENS_STEPS "TAPELENS_STEPS"   /* "A:B", "A:" or ":B": record these optimizer steps in full, else memory */
#define TAPELENS_MARKED "TAPELENS_MARKED" /* record only memory until the program calls tapelens_mark() */
#define TAPELENS_LAST "TAPELENS_LAST"     /* number of last steps to keep; older ones are removed */
#define TAPELENS_MAX_BYTES "TAPELENS_MAX_BYTES" /* limit of a process's spool */
#define TAPELENS_STACKS "TAPELENS_STACKS"       /* "python", "cpp", both or "none" */
#define TAPELENS_CUPTI "TAPELENS_CUPTI"         /* record external memory, by CUPTI */
#define TAPELENS_CHECKSUMS "TAPELENS_CHECKSUMS" /* of gradients and parameters, at each step */
#define TAPELENS_VALUES "TAPELENS_VALUES"       /* the folder for the gradients themselves */
#define TAPELENS_FLOAT64 "TAPELENS_FLOAT64"     /* with TAPELENS_VALUES: also with every operator on float64 */
#define TAPELENS_ACTIVATION_BUDGET "TAPELENS_ACTIVATION_BUDGET" /* for torch.compile's partitioner: 0 to 1 */
#define TAPELENS_REFERRERS "TAPELENS_REFERRERS"                 /* record the variables that hold tensors */
#define TAPELENS_BUILT_PROBES "TAPELENS_BUILT_PROBES" /* the folder of probes that `tapelens build-probe` made */
#define TAPELENS_QUIET "TAPELENS_QUIET"               /* print no messages in the process, about rewriting neither */

/* Variables that `tapelens attach` passes in memory to a program that runs already. */
#define TAPELENS_ATTACH "TAPELENS_ATTACH"              /* the number of this attach, for the names of its files */
#define TAPELENS_LIBRARIES "TAPELENS_LIBRARIES"        /* the folder of the probes */
#define TAPELENS_BEGAN_NS "TAPELENS_BEGAN_NS"          /* when the program began: ns since 1970 */
#define TAPELENS_ATTACHED_INJECT ".attached-inject.so" /* names of copies of libraries, behind the number */
#define TAPELENS_ATTACHED_PROBE ".attached-probe.so"
#define TAPELENS_SAID "said" /* a file in the folder for the spools, with lines that the command line prints */

/* Not a variable: a file in the folder for the spools, or in that of TAPELENS_TALLY. The command line creates it and
   reserves disk space for one sentence. The first process that cannot be recorded or rewritten writes the reason: '1'
   if it also printed the sentence to standard error, else '0', and then the sentence. */
#define TAPELENS_EXPLANATION "explanation"
#define TAPELENS_EXPLANATION_BYTES 2048
