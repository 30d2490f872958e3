/* The variables of the environment with which a process is told which GPUs are simulated (settings.h). C too. */
#pragma once

#define TAPELENS_SIMULATED_GPU "TAPELENS_SIMULATED_GPU"
/* A folder in which each process that read unknown values has a file, unless it ended with exit code 0. */
#define TAPELENS_SIMULATED_READS "TAPELENS_SIMULATED_READS"
#define TAPELENS_SIMULATED_CUPTI "TAPELENS_SIMULATED_CUPTI" /* of tests: how CUPTI is to behave (device/cupti.cpp) */
