/* The environment variables that configure the rewrites of a process (wire.h). An empty variable counts as not set.
   This header is also C. trace/variables.h has the variables of recording. */
#pragma once

#define TAPELENS_REWRITE "TAPELENS_REWRITE"                     /* without it nothing is rewritten */
#define TAPELENS_APPLY "TAPELENS_APPLY"                         /* the level */
#define TAPELENS_ALLOW "TAPELENS_ALLOW"                         /* ids, separated by commas */
#define TAPELENS_PLAN "TAPELENS_PLAN"                           /* the file with the sites */
#define TAPELENS_POISON "TAPELENS_POISON"                       /* NaN for all never-read values */
#define TAPELENS_RECOMPUTE_BUDGET "TAPELENS_RECOMPUTE_BUDGET"   /* a share of a step's estimated cost */
#define TAPELENS_HOST_MEMORY "TAPELENS_HOST_MEMORY"             /* the most bytes of the host for offloaded saves */
#define TAPELENS_REWRITE_MIN_BYTES "TAPELENS_REWRITE_MIN_BYTES" /* smallest saved tensor */
#define TAPELENS_REWRITE_PLUGINS "TAPELENS_REWRITE_PLUGINS"     /* libraries, separated by colons */
#define TAPELENS_TALLY "TAPELENS_TALLY"                         /* the folder for the counts of each process */
