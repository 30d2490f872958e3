// Where an operator or an allocation came from, in the program's terms. What was not recorded on the event itself is
// inherited: from the operator around it, or, in a backward, from the operator that made the node under evaluation.
#pragma once

#include "analyzer/model/model.h"

namespace tapelens::model {

StackId stack_of(const Process& process, OperatorId op);
StackId stack_of(const Process& process, AllocationId allocation);
ModuleId module_of(const Process& process, OperatorId op);
ModuleId module_of(const Process& process, AllocationId allocation);

// The name of the operator that was running; that of the node under evaluation if none was; none if neither.
StringId operator_name_of(const Process& process, AllocationId allocation);

}  // namespace tapelens::model
