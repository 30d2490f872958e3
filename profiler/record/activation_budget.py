# Run in the globals of python_hooks.py, after `BUDGET` is set to a number from 0 to 1. Sets
# the default budget of torch.compile's partitioner, as if PyTorch itself read it from the environment; a value set by
# the program takes precedence. The recording notes that it was set, and the actual budget of each partitioned graph.
import functools
import importlib
import sys

PARTITIONERS = "torch._functorch.partitioners"


def set_budget():
    """Returns whether it is done: False while the partitioner is being imported."""
    begun = sys.modules.get(PARTITIONERS)
    if begun is not None and getattr(begun.__spec__, "_initializing", False):
        return False
    try:
        partitioners = importlib.import_module(PARTITIONERS)
        choose = partitioners.choose_saved_values_set
        entry = sys.modules["torch._functorch.config"]._config["activation_memory_budget"]
        entry.env_value_default  # raises if this PyTorch version has no such option

        @functools.wraps(choose)
        def told(joint_graph, node_info, memory_budget=1):
            tapelens_information("activation_budget_of_graph", repr(float(memory_budget)))
            return choose(joint_graph, node_info, memory_budget=memory_budget)

        # The program's own value takes precedence over this one, and this one over the default, on any thread. The
        # value is part of the cache keys of compiled graphs.
        entry.env_value_default = float(BUDGET)
        partitioners.choose_saved_values_set = told
        tapelens_information("activation_budget", str(BUDGET))
    except Exception as error:
        let_out(error)
        tapelens_information("activation_budget_failed", f"{type(error).__name__}: {error}")
    return True
