/* The functions of LibTorch, and of CUPTI, which LibTorch calls, that the preload library wraps: X(name, mangled
 * symbol). For C, C++ and assembler. */
#pragma once

/* The assembler cannot join string literals. */
/* clang-format off */
#define TAPELENS_SYMBOLS(X)                                                                                          \
  X(step_callbacks, "_ZN2at16getStepCallbacksENS_11RecordScopeE")                                                    \
  X(step_callbacks_unless_empty, "_ZN2at27getStepCallbacksUnlessEmptyENS_11RecordScopeE")                            \
  X(saved_variable, "_ZN5torch8autograd13SavedVariableC1ERKN2at6TensorEbb")                                          \
  X(saved_variable_base, "_ZN5torch8autograd13SavedVariableC2ERKN2at6TensorEbb")                                     \
  X(set_gradient_edge, "_ZN5torch8autograd4impl17set_gradient_edgeERKN2at6TensorENS0_4EdgeE")                        \
  X(rebase_history, "_ZN5torch8autograd4impl14rebase_historyERKN2at6TensorENS0_4EdgeE")                              \
  X(node_release_resources, "_ZN5torch8autograd4Node17release_resourcesEv")                                          \
  X(node_destructor, "_ZN5torch8autograd4NodeD2Ev")                                                                  \
  X(node_destructor_alias, "_ZN5torch8autograd4NodeD1Ev")                                                            \
  X(delete_node, "_ZN5torch8autograd10deleteNodeEPNS0_4NodeE")                                                       \
  X(unpack, "_ZNK5torch8autograd13SavedVariable6unpackEN3c1013intrusive_ptrINS0_4NodeENS2_6detail34intrusive_target_default_null_typeIS4_EEEE") \
  X(unpack_shared, "_ZNK5torch8autograd13SavedVariable6unpackESt10shared_ptrINS0_4NodeEE")                           \
  X(engine_execute, "_ZN5torch8autograd6Engine7executeERKSt6vectorINS0_4EdgeESaIS3_EERKS2_IN2at6TensorESaIS9_EEbbbS7_") \
  X(resize_bytes_cpu, "_ZN2at6native16resize_bytes_cpuEPN3c1011StorageImplEm")                                     \
  X(resize_bytes_cuda, "_ZN2at6native17resize_bytes_cudaEPN3c1011StorageImplEm")                                   \
  X(set_data, "_ZNK2at10TensorBase8set_dataERKS0_")                                                                \
  X(to_numpy, "_ZN5torch5utils15tensor_to_numpyERKN2at6TensorEb")                                                    \
  X(to_dlpack, "_ZN2at8toDLPackERKNS_6TensorE")                                                                      \
  X(to_dlpack_versioned, "_ZN2at17toDLPackVersionedERKNS_6TensorE")                                                  \
  X(module_parameters, "_ZNK5torch2nn6Module10parametersEb")                                                       \
  X(adagrad_step, "_ZN5torch5optim7Adagrad4stepESt8functionIFN2at6TensorEvEE")                                       \
  X(adam_step, "_ZN5torch5optim4Adam4stepESt8functionIFN2at6TensorEvEE")                                             \
  X(adamw_step, "_ZN5torch5optim5AdamW4stepESt8functionIFN2at6TensorEvEE")                                           \
  X(lbfgs_step, "_ZN5torch5optim5LBFGS4stepESt8functionIFN2at6TensorEvEE")                                           \
  X(rmsprop_step, "_ZN5torch5optim7RMSprop4stepESt8functionIFN2at6TensorEvEE")                                       \
  X(sgd_step, "_ZN5torch5optim3SGD4stepESt8functionIFN2at6TensorEvEE")                                               \
  X(alloc_cpu, "_ZN3c109alloc_cpuEm")                                                                                \
  X(free_cpu, "_ZN3c108free_cpuEPv")                                                                                 \
  X(default_cpu_allocator, "_ZN3c1022GetDefaultCPUAllocatorEv")                                                      \
  X(report_memory, "_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE")                                          \
  X(report_out_of_memory, "_ZN3c1027reportOutOfMemoryToProfilerElmmNS_6DeviceE")                                     \
  X(cupti_subscribe, "cuptiSubscribe")                                                                               \
  X(cupti_subscribe_v2, "cuptiSubscribe_v2")                                                                         \
  X(cupti_register, "cuptiActivityRegisterCallbacks")
