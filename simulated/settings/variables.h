/* The environment variables that configure the simulated GPUs of a process (settings.h). This header is also C. */
#pragma once

#define TAPELENS_SIMULATED_GPU "TAPELENS_SIMULATED_GPU"
/* A folder with a file for each process that read unknown values, unless it ended with exit code 0. */
#define TAPELENS_SIMULATED_READS "TAPELENS_SIMULATED_READS"
#define TAPELENS_SIMULATED_CUPTI "TAPELENS_SIMULATED_CUPTI" /* for tests: behavior of CUPTI (device/cupti.cpp) */
