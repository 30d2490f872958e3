# Run in the globals of python_hooks.py, behind `BUDGET_VARIABLE`, the name of the variable with the number: the budget that
# torch.compile's partitioner has unless the program sets one, as if PyTorch itself read it from the environment. The
# recording says that it was set, and of each graph that was partitioned with which budget that was done in fact.
import functools
import importlib
import os
import sys

PARTITIONERS = "torch._functorch.partitioners"


def set_budget():
    """Whether there is no more to do: not while the partitioner is being imported."""
    begun = sys.modules.get(PARTITIONERS)
    if begun is not None and getattr(begun.__spec__, "_initializing", False):
        return False
    try:
        partitioners = importlib.import_module(PARTITIONERS)
        choose = partitioners.choose_saved_values_set
        entry = sys.modules["torch._functorch.config"]._config["activation_memory_budget"]
        entry.env_value_default  # there is such a thing in this PyTorch

        @functools.wraps(choose)
        def told(joint_graph, node_info, memory_budget=1):
            tapelens_information("activation_budget_of_graph", repr(float(memory_budget)))
            return choose(joint_graph, node_info, memory_budget=memory_budget)

        # The program's own value has precedence over this one, and this one over the default, whichever thread compiles;
        # it is in the keys of the caches of compiled graphs.
        entry.env_value_default = float(os.environ[BUDGET_VARIABLE])
        partitioners.choose_saved_values_set = told
        tapelens_information("activation_budget", os.environ[BUDGET_VARIABLE])
    except Exception as error:
        let_out(error)
        tapelens_information("activation_budget_failed", f"{type(error).__name__}: {error}")
    return True
