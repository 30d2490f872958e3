# The probe runs this file with separate globals at the first operator after the import of torch. rewrite.cpp has the
# `tapelens_scan_*` functions.
#
# torch.scan stacks the tensors that the backward of its body reads, a slice for each iteration. Its inputs are
# excepted. A view of an input that is equal in every iteration is equal, too. The rewrite copies it once, and treats
# the copy as such an input. The stacked views of a scanned input's slices are a view of that whole input. The backward
# copies this view when it begins.
import sys

torch = None
module = None  # torch._higher_order_ops.scan


def outputs_of(impl):
    graph = impl.hop_partitioned_graph.fw_gm.graph
    return next(iter(graph.find_nodes(op="output"))), impl.hop_partitioned_graph.n_fw_outputs


def times_of(impl):
    return impl.xs[0].shape[0] if impl.xs else 0


def changes_nothing(graph):
    """Whether no operator of the body writes to its inputs."""
    for node in graph.nodes:
        if isinstance(node.target, torch._ops.HigherOrderOperator):
            return False
        if isinstance(node.target, torch._ops.OpOverload) and node.target._schema.is_mutable:
            return False
    return True


def is_view(node):
    """Includes view copies, because a graph without aliases has copies instead of views."""
    operator = node.target
    return isinstance(operator, torch._ops.OpOverload) and (operator.is_view or torch.Tag.view_copy in operator.tags)


def without_copy(operator):
    """aten::t of aten::t_copy."""
    if operator.is_view:
        return operator
    name = operator._schema.name.removeprefix("aten::").removesuffix("_copy")
    return getattr(getattr(torch.ops.aten, name), operator._overloadname)


def value_of(node, inputs):
    """The value of a node that is a view of an input, and that input; otherwise None, None."""
    chain = []
    while node not in inputs:
        if not is_view(node) or node.kwargs or node.all_input_nodes != [*node.args[:1]]:
            return None, None
        chain.append(node)
        node = node.args[0]
    value = inputs[node].detach()
    for view in reversed(chain):
        value = without_copy(view.target)(value, *view.args[1:])
    if not isinstance(value, torch.Tensor) or value.untyped_storage()._cdata != inputs[node].untyped_storage()._cdata:
        return None, None
    return value, node


def plain(nodes, values):
    return {node: value for node, value in zip(nodes, values)
            if isinstance(value, torch.Tensor) and tapelens_scan_is_plain(value._cdata)}


# Libraries of CUDA choose a kernel by the alignment of its addresses, up to this one. So a slice of the stack must have
# that of a separate tensor.
ALIGNMENT = 256  # bytes


class Held:
    """A view of an input on CUDA, whose values the host keeps for the backward."""

    def __init__(self, view, number):
        self.number = number
        self.sizes, self.dtype, self.device = view.shape, view.dtype, view.device

    def contiguous(self):
        made = torch.empty(self.sizes, dtype=self.dtype, device=self.device)
        tapelens_scan_copy_held(self.number, made._cdata)
        return made

    def __del__(self, release=tapelens_scan_release_held):
        release(self.number)


class Kept:
    """Replaces a stack: one tensor for all iterations, or (`is_sliced`) a view with a slice for each iteration."""

    def __init__(self, value, stacked, is_sliced):
        self.value = value
        self.stacked = stacked  # bytes
        self.is_sliced = is_sliced


def keep(impl):
    """The tensors that need no stack, by their index among the tensors that the backward reads. Later writes to the
    input do not change them. Each is a contiguous copy, as a slice of the stack is, or shares the input's memory by
    copy-on-write."""
    graph = impl.hop_partitioned_graph.fw_gm.graph
    output, n_results = outputs_of(impl)
    _, xs_nodes, same_nodes = torch.utils._pytree.tree_unflatten(list(graph.find_nodes(op="placeholder")), impl.fw_spec)
    times = times_of(impl)
    found = {}
    if times < 2 or not changes_nothing(graph):
        return found
    same, xs = plain(same_nodes, impl.additional_inputs), plain(xs_nodes, impl.xs)
    firsts = {node: value[0] for node, value in xs.items()}
    for place, node in enumerate(output.args[0][n_results:]):
        if node in same or node in xs:
            continue
        value, _ = value_of(node, same)
        if value is not None and tapelens_scan_wants(times * value.nbytes):
            if value.is_cuda and value.nbytes % ALIGNMENT:
                tapelens_scan_skipped("the slices of its stack are not aligned as a tensor is")
            else:
                found[place] = Kept(value.clone(memory_format=torch.contiguous_format), times * value.nbytes, False)
            continue
        value, of = value_of(node, firsts)
        if value is not None and tapelens_scan_wants(times * value.nbytes):
            whole = sliced(xs[of].detach(), value, firsts[of])
            if whole is not None:
                found[place] = Kept(whole, times * value.nbytes, True)
    return found


def sliced(x, value, first):
    """The view of a scanned input whose slices are like `value`, a view of the `first` slice; None if the host cannot
    keep it."""
    shape = ((x.shape[0], *value.shape), (x.stride(0), *value.stride()),
             x.storage_offset() + value.storage_offset() - first.storage_offset())
    if not x.is_cuda:
        return torch._lazy_clone(x).as_strided(*shape)
    view = x.as_strided(*shape)
    number = tapelens_scan_hold(view._cdata)
    return None if number is None else Held(view, number)


def take_out(impl, found):
    """Removes `found` from the intermediates that PyTorch keeps."""
    policies = module.ScanForwardIntermediatesHandlingPolicy
    output, n_results = outputs_of(impl)
    stacked, given, given_xs = (iter(all_of) for all_of in (output.args[0][n_results:], impl.saved_fw_additional_inputs,
                                                            impl.saved_fw_xs))
    kept, unused, inputs, xs, sliced = [], set(), [], [], set()
    for place, policy in enumerate(impl.forward_intermediates_handling_policies):
        if place in found:
            if policy != policies.KEEP:
                raise LookupError
            unused.add(next(stacked))
            if found[place].is_sliced:
                sliced.add(len(xs))
            (xs if found[place].is_sliced else inputs).append(found[place].value)
        elif policy == policies.REMOVE_ADDITIONAL_INPUTS:
            inputs.append(next(given))
        elif policy == policies.REMOVE_XS:
            xs.append(next(given_xs))
        else:
            kept.append(next(stacked))
    if [*stacked, *given, *given_xs]:
        raise LookupError
    output.args = ((*output.args[0][:n_results], *kept),)
    for node in reversed(list(output.graph.nodes)):
        if node in unused and not node.users and is_view(node):
            unused.update(node.all_input_nodes)
            output.graph.erase_node(node)
    impl.hop_partitioned_graph.fw_gm.recompile()
    impl.saved_fw_additional_inputs, impl.saved_fw_xs, impl.tapelens_sliced = inputs, xs, sliced
    for place, one in found.items():
        impl.forward_intermediates_handling_policies[place] = (
            policies.REMOVE_XS if one.is_sliced else policies.REMOVE_ADDITIONAL_INPUTS)
        # Sliced views cost nothing: the scan holds its inputs until its backward ends.
        tapelens_scan_applied(one.stacked, 0 if one.is_sliced else one.value.nbytes)


def guarded(part, *arguments):
    """Skips the rewrite if PyTorch's scan is not the known implementation. The program's scan still runs."""
    try:
        return part(*arguments)
    except Exception as error:
        if tapelens_is_of_handler(error):
            raise
        tapelens_scan_skipped(f"its scan is not as it is known: {type(error).__name__}")
        return None


def install():
    """None during the import of torch."""
    global torch, module
    torch, module = sys.modules.get("torch"), sys.modules.get("torch._higher_order_ops.scan")
    if torch is None or getattr(torch.__spec__, "_initializing", False):
        return None
    policies = module.ScanForwardIntermediatesHandlingPolicy
    if {policy.name for policy in policies} != {"KEEP", "CLONE", "REMOVE_XS", "REMOVE_ADDITIONAL_INPUTS"}:
        raise LookupError
    optimize = module.ScanAutogradImpl._optimize_forward_intermediates

    call_backward = module.ScanAutogradImpl.call_backward

    def optimized(impl):
        found = guarded(keep, impl)
        optimize(impl)
        if found:
            guarded(take_out, impl, found)

    def called(impl, *gradients):
        sliced, xs = getattr(impl, "tapelens_sliced", ()), impl.saved_fw_xs
        if not sliced:
            return call_backward(impl, *gradients)
        # Contiguous, as the stack would be.
        impl.saved_fw_xs = [x.contiguous() if place in sliced else x for place, x in enumerate(xs)]
        try:
            return call_backward(impl, *gradients)
        finally:
            impl.saved_fw_xs = xs

    module.ScanAutogradImpl._optimize_forward_intermediates = optimized
    module.ScanAutogradImpl.call_backward = called
    return True
