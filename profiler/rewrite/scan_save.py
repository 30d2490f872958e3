R"PYTHON(#"
# This line and the last make the file a string of C++, too: plugins/scan-save/rewrite.cpp includes it, as
# late_gradient.py is. `tapelens_scan_*` functions are those of rewrite.cpp.
#
# torch.scan stacks what the backward of its body reads, a slice for each iteration, but for what its inputs are. What is a
# view of an input that is the same in every iteration is the same, too: it is copied once, and goes the way of that input.
import sys

torch = None
module = None  # torch._higher_order_ops.scan


def outputs_of(impl):
    graph = impl.hop_partitioned_graph.fw_gm.graph
    return next(iter(graph.find_nodes(op="output"))), impl.hop_partitioned_graph.n_fw_outputs


def times_of(impl):
    return impl.xs[0].shape[0] if impl.xs else 0


def changes_nothing(graph):
    """Whether no operator of the body writes to what it was given."""
    for node in graph.nodes:
        if isinstance(node.target, torch._ops.HigherOrderOperator):
            return False
        if isinstance(node.target, torch._ops.OpOverload) and node.target._schema.is_mutable:
            return False
    return True


def is_view(node):
    """Of a graph without aliases the views are copies."""
    operator = node.target
    return isinstance(operator, torch._ops.OpOverload) and (operator.is_view or torch.Tag.view_copy in operator.tags)


def value_of(node, inputs):
    """What a node is in every iteration, if it is a view of an input that is the same in all of them."""
    if node in inputs:
        return inputs[node]
    if not is_view(node) or node.kwargs or node.all_input_nodes != [*node.args[:1]]:
        return None
    source = value_of(node.args[0], inputs)
    return None if source is None else node.target(source, *node.args[1:])


def invariants(impl):
    """By its place among all that the backward reads: what does not change. It is copied, as its slices are in the stack:
    contiguous, and as it is now."""
    graph = impl.hop_partitioned_graph.fw_gm.graph
    output, n_results = outputs_of(impl)
    given = torch.utils._pytree.tree_unflatten(list(graph.find_nodes(op="placeholder")), impl.fw_spec)[2]
    inputs = {node: value for node, value in zip(given, impl.additional_inputs)
              if isinstance(value, torch.Tensor) and tapelens_scan_is_plain(value._cdata)}
    times = times_of(impl)
    found = {}
    if not inputs or times < 2 or not changes_nothing(graph):
        return found
    for place, node in enumerate(output.args[0][n_results:]):
        value = value_of(node, inputs) if node not in inputs else None
        if isinstance(value, torch.Tensor) and tapelens_scan_wants(times * value.nbytes):
            found[place] = value.detach().clone(memory_format=torch.contiguous_format)
    return found


def take_out(impl, found):
    """What PyTorch kept of the intermediates, without these."""
    policies = module.ScanForwardIntermediatesHandlingPolicy
    output, n_results = outputs_of(impl)
    stacked, given = iter(output.args[0][n_results:]), iter(impl.saved_fw_additional_inputs)
    kept, unused, inputs = [], set(), []
    for place, policy in enumerate(impl.forward_intermediates_handling_policies):
        if place in found:
            if policy != policies.KEEP:
                raise LookupError
            unused.add(next(stacked))
            inputs.append(found[place])
        elif policy == policies.REMOVE_ADDITIONAL_INPUTS:
            inputs.append(next(given))
        elif policy != policies.REMOVE_XS:
            kept.append(next(stacked))
    if [*stacked, *given]:
        raise LookupError
    output.args = ((*output.args[0][:n_results], *kept),)
    for node in reversed(list(output.graph.nodes)):
        if node in unused and not node.users and is_view(node):
            unused.update(node.all_input_nodes)
            output.graph.erase_node(node)
    impl.hop_partitioned_graph.fw_gm.recompile()
    impl.saved_fw_additional_inputs = inputs
    for place in found:
        impl.forward_intermediates_handling_policies[place] = policies.REMOVE_ADDITIONAL_INPUTS
        tapelens_scan_applied(times_of(impl) * found[place].nbytes, found[place].nbytes)


def guarded(part, *arguments):
    """The program's scan is made, whatever is not as it is known here."""
    try:
        return part(*arguments)
    except Exception as error:
        tapelens_scan_skipped(f"its scan is not as it is known: {type(error).__name__}")
        return None


def install():
    """None as long as torch is being imported."""
    global torch, module
    torch, module = sys.modules.get("torch"), sys.modules.get("torch._higher_order_ops.scan")
    if torch is None or getattr(torch.__spec__, "_initializing", False):
        return None
    policies = module.ScanForwardIntermediatesHandlingPolicy
    if {policy.name for policy in policies} != {"KEEP", "CLONE", "REMOVE_XS", "REMOVE_ADDITIONAL_INPUTS"}:
        raise LookupError
    optimize = module.ScanAutogradImpl._optimize_forward_intermediates

    def optimized(impl):
        found = guarded(invariants, impl)
        optimize(impl)
        if found:
            guarded(take_out, impl, found)

    module.ScanAutogradImpl._optimize_forward_intermediates = optimized
    return True
# )PYTHON"
