"""Cross entropies of all kinds and at unusual moments. Saves losses, gradients and the visible graph:
python losses.py FUNCTION FILE."""

import gc
import itertools
import sys
import threading

import torch
from torch.nn import functional as F

DTYPES = (torch.float32, torch.bfloat16, torch.float16, torch.float64)
SHAPES = ((64, 1000), (257, 3203), (100, 7), (640, 129), (33, 5), (31, 40), (1, 9), (2048, 64))


def data(rows, classes, dtype=torch.float32, ignored=5, device="cpu"):
    logits = (torch.randn(rows, classes) * 3).to(dtype).to(device).requires_grad_()
    targets = torch.randint(0, classes, (rows,))
    if ignored:
        targets[::ignored] = -100
    return logits, targets.to(device)


def graph(tensor, depth=0):
    """The names of the nodes, and the number of each's inputs."""
    def walk(node, left):
        if node is None or left == 0:
            return None
        return node.name(), [walk(before, left - 1) for before, _ in node.next_functions]
    return walk(tensor.grad_fn, 8)


def both(loss, *inputs, **options):
    gradients = torch.autograd.grad(loss, inputs, **options)
    return {"loss": loss.detach().clone().reshape(-1), "graph": graph(loss), "gradients": [g.detach().clone() for g in gradients],
            "strides": [g.stride() for g in gradients]}


def kinds():
    """Types, shapes, reductions, ignored rows, casts, threads."""
    results = {}
    for threads in (1, 3):
        torch.set_num_threads(threads)
        for dtype, (rows, classes), reduction, ignored in itertools.product(DTYPES, SHAPES, ("mean", "sum", "none"), (0, 1, 5)):
            logits, targets = data(rows, classes, dtype, ignored)
            hidden = logits * 1
            loss = F.cross_entropy(hidden, targets, reduction=reduction)
            weights = torch.linspace(-1, 2, rows).to(dtype) if reduction == "none" else None
            results[threads, dtype, rows, classes, reduction, ignored] = both(loss, logits, grad_outputs=weights)
    torch.set_num_threads(1)
    for dtype in DTYPES[1:3]:
        for enabled in (True, False):
            logits, targets = data(300, 211, dtype)
            with torch.autocast("cpu", dtype=dtype, enabled=enabled):
                results["autocast", dtype, enabled] = both(F.cross_entropy(logits * 1, targets), logits)
            logits, targets = data(300, 211, dtype)
            results["float", dtype, enabled] = both(F.cross_entropy((logits * 1).float(), targets), logits)
    for index in (0, 3, -1, 1000):
        logits, targets = data(300, 211, ignored=0)
        targets[::7] = index if index < 211 else 0
        results["ignore_index", index] = both(F.cross_entropy(logits * 1, targets, ignore_index=index), logits) \
            if index >= 0 or index == -1 else None
    for value in (float("inf"), -float("inf"), float("nan"), 0.0, -0.0):
        logits, targets = data(300, 211)
        with torch.no_grad():
            logits[3::5, ::3] = value
            logits[7] = value
        for reduction in ("mean", "sum"):
            results["value", str(value), reduction] = both(F.cross_entropy(logits * 1, targets, reduction=reduction), logits)
    for dtype, cast, view in itertools.product(DTYPES[1:3], (torch.float32, torch.float64), (0, 1, 2)):
        logits, targets = data(320, 211, dtype)
        hidden = (logits * 1).view(5, 64, 211)
        wide = hidden.to(cast)
        wide = (wide.view(-1, 211), wide.flatten(0, 1), wide.reshape(10, 32, 211).reshape(320, 211))[view]
        if view == 1:
            hidden.data.mul_(2)  # after the cast, before the loss
        loss = F.cross_entropy(wide, targets)
        if view == 2:
            hidden.data.mul_(2)
        results["cast", dtype, cast, view] = both(loss, logits)
    for dtype in DTYPES[1:3]:
        logits, targets = data(320, 211, dtype)
        wide = (logits * 1).float()
        results["two uses of a cast", dtype] = both(F.cross_entropy(wide, targets) + wide.square().mean(), logits)
        wide = (logits * 1).float()
        seen = []
        wide.register_hook(lambda gradient: seen.append(gradient.clone()))
        results["a hook before a cast", dtype] = both(F.cross_entropy(wide, targets), logits), seen
        wide = (logits * 1).float()
        wide.retain_grad()
        F.cross_entropy(wide, targets).backward(retain_graph=True)
        results["the gradient of a cast", dtype] = wide.grad, logits.grad
        wide = (logits * 1).float()
        results["the gradient of a cast, captured", dtype] = both(F.cross_entropy(wide, targets), wide, logits)
        image = (logits * 1)[:, :200].view(320, 8, 5, 5).to(torch.float32, memory_format=torch.channels_last)
        results["channels last", dtype] = both(F.cross_entropy(image.permute(0, 2, 3, 1).reshape(320, 200), targets.clamp(max=199)), logits)
        wide = (logits * 1).float()
        gradient, = torch.autograd.grad(F.cross_entropy(wide, targets), logits, create_graph=True)
        second, = torch.autograd.grad(gradient.float().square().sum(), logits)
        results["twice through a cast", dtype] = gradient.detach().clone(), graph(gradient), second
    logits, targets = data(300, 211)
    results["weights"] = both(F.cross_entropy(logits * 1, targets, weight=torch.rand(211)), logits)
    results["smoothing"] = both(F.cross_entropy(logits * 1, targets, label_smoothing=0.1), logits)
    results["probabilities"] = both(F.cross_entropy(logits * 1, torch.rand(300, 211).softmax(1)), logits)
    results["column major"] = both(F.cross_entropy((logits.t().contiguous() * 1).t(), targets), logits)
    results["slice"] = both(F.cross_entropy((logits * 1)[16:], targets[16:]), logits)
    results["odd slice"] = both(F.cross_entropy((logits * 1)[17:], targets[17:]), logits)
    results["columns"] = both(F.cross_entropy((logits * 1)[:, 3:], targets.clamp(max=100)), logits)
    results["leaf"] = both(F.cross_entropy(logits, targets), logits)
    results["strided targets"] = both(F.cross_entropy(logits * 1, torch.stack((targets, targets), 1)[:, 1]), logits)
    images = torch.randn(4, 11, 20, 20, requires_grad=True)
    results["images"] = both(F.cross_entropy(images * 1, torch.randint(0, 11, (4, 20, 20))), images)
    results["one row"] = both(F.cross_entropy(logits[0] * 1, targets[1]), logits)
    results["empty"] = both(F.cross_entropy(logits[:0] * 1, targets[:0], reduction="sum"), logits)
    torch.manual_seed(3)
    model = torch.nn.Linear(64, 511)
    tokens = torch.randn(6, 64, 64)
    loss = F.cross_entropy(model(tokens).flatten(0, 1), torch.randint(0, 511, (384,)))
    results["linear"] = both(loss, model.weight, model.bias)
    return results


def moments():
    """Uses of the graph and of the logits around a loss."""
    results = {}

    def case(function):
        torch.manual_seed(len(results))
        results[function.__name__] = function(*data(400, 97))

    @case
    def written_after(logits, targets):
        hidden = logits * 1
        loss = F.cross_entropy(hidden, targets)
        with torch.no_grad():
            hidden.zero_()
        return both(loss, logits)

    @case
    def written_by_data(logits, targets):
        hidden = logits * 1
        loss = F.cross_entropy(hidden, targets)
        hidden.data.mul_(3)
        return both(loss, logits), hidden.detach().clone()

    @case
    def written_by_numpy(logits, targets):
        hidden = logits * 1
        loss = F.cross_entropy(hidden, targets)
        hidden.detach().numpy()[:] = 5
        return both(loss, logits), hidden.detach().clone()

    @case
    def numpy_before(logits, targets):
        hidden = logits * 1
        array = hidden.detach().numpy()
        loss = F.cross_entropy(hidden, targets)
        array[:] = 5
        return both(loss, logits)

    @case
    def resized(logits, targets):
        hidden = logits * 1
        loss = F.cross_entropy(hidden, targets)
        hidden.untyped_storage().resize_(0)
        return both(loss, logits)

    @case
    def leaf_stepped(logits, targets):
        loss = F.cross_entropy(logits, targets)
        with torch.no_grad():
            logits.add_(1)
        return both(loss, logits)

    @case
    def targets_written(logits, targets):
        loss = F.cross_entropy(logits * 1, targets)
        targets.zero_()
        try:
            loss.backward()
        except RuntimeError as error:
            return str(error)

    @case
    def logits_dropped(logits, targets):
        loss = F.cross_entropy(logits * 1, targets)
        gc.collect()
        junk = [torch.full((400, 97), 7.0) for _ in range(8)]
        return both(loss, logits), len(junk)

    @case
    def twice(logits, targets):
        loss = F.cross_entropy(logits * 1, targets)
        first = both(loss, logits, retain_graph=True)
        second = both(loss * 2, logits, retain_graph=True)
        loss.backward()
        try:
            loss.backward()
        except RuntimeError as error:
            return first, second, logits.grad.clone(), str(error)

    @case
    def double_backward(logits, targets):
        hidden = logits * 1
        loss = F.cross_entropy(hidden, targets)
        gradient, = torch.autograd.grad(loss, logits, create_graph=True)
        second, = torch.autograd.grad(gradient.square().sum(), logits)
        return gradient.detach().clone(), graph(gradient), second.clone()

    @case
    def hessian_vector(logits, targets):
        loss = F.cross_entropy(logits * 1, targets, reduction="sum")
        gradient, = torch.autograd.grad(loss, logits, create_graph=True)
        product, = torch.autograd.grad(gradient, logits, torch.ones_like(gradient), retain_graph=True)
        loss.backward()
        return product.clone(), logits.grad.clone()

    @case
    def hooks_of_nodes(logits, targets):
        seen = []
        loss = F.cross_entropy(logits * 1, targets)
        node = loss.grad_fn.next_functions[0][0]
        node.register_prehook(lambda gradients: seen.append(gradients[0].clone()))
        loss.grad_fn.register_hook(lambda inputs, outputs: seen.append(inputs[0].clone()))
        node.register_hook(lambda inputs, outputs: seen.append(inputs[0].clone()))
        return both(loss, logits), seen

    @case
    def hook_that_changes(logits, targets):
        loss = F.cross_entropy(logits * 1, targets)
        loss.grad_fn.next_functions[0][0].register_prehook(lambda gradients: (gradients[0] * 2,))
        return both(loss, logits)

    @case
    def hooks_of_logits(logits, targets):
        seen = []
        hidden = logits * 1
        hidden.register_hook(lambda gradient: seen.append(gradient.clone()))
        hidden.retain_grad()
        loss = F.cross_entropy(hidden, targets)
        loss.register_hook(lambda gradient: gradient * 3)
        return both(loss, logits), seen, hidden.grad

    @case
    def captured(logits, targets):
        loss = F.cross_entropy(logits * 1, targets)
        edge = torch.autograd.graph.GradientEdge(loss.grad_fn.next_functions[0][0], 0)
        gradient, of_logits = torch.autograd.grad(loss, (edge, logits))
        return gradient.clone(), of_logits.clone()

    @case
    def saved_seen(logits, targets):
        loss = F.cross_entropy(logits * 1, targets)
        node = loss.grad_fn
        seen = [node._saved_self.detach().clone(), node.next_functions[0][0]._saved_result.detach().clone(),
                node._saved_target.clone(), node._saved_total_weight.clone(), node._saved_self.detach().numpy().copy()]
        return both(loss, logits), [torch.as_tensor(each) for each in seen]

    @case
    def saved_used(logits, targets):
        loss = F.cross_entropy(logits * 1, targets)
        other = loss.grad_fn._saved_self.exp().square().sum()
        return both(loss + other, logits)

    @case
    def anomalies(logits, targets):
        with torch.autograd.detect_anomaly(check_nan=True):
            return both(F.cross_entropy(logits * 1, targets), logits)

    @case
    def packed(logits, targets):
        packed = []
        with torch.autograd.graph.saved_tensors_hooks(lambda x: packed.append(x.shape) or x, lambda x: x):
            loss = F.cross_entropy(logits * 1, targets)
        return both(loss, logits), packed

    @case
    def saved_on_cpu(logits, targets):
        with torch.autograd.graph.save_on_cpu():
            return both(F.cross_entropy(logits * 1, targets), logits)

    @case
    def checkpointed(logits, targets):
        from torch.utils.checkpoint import checkpoint
        results = []
        for reentrant in (True, False):
            loss = checkpoint(lambda x: F.cross_entropy(x * 1, targets), logits, use_reentrant=reentrant)
            loss.backward()
            results.append((loss.detach().clone(), logits.grad.clone()))
        return results

    @case
    def several(logits, targets):
        hidden = logits * 1
        losses = [F.cross_entropy(hidden, targets), F.cross_entropy(hidden * 2, targets, reduction="sum"),
                  F.cross_entropy(hidden[:320], targets[:320])]
        return both(sum(losses), logits)

    @case
    def scaled(logits, targets):
        loss = F.cross_entropy(logits * 1, targets)
        (loss * 1024).backward()
        return logits.grad.clone()

    @case
    def bad_target(logits, targets):
        errors = []
        for bad in (97, -1):
            targets[5] = bad
            try:
                F.cross_entropy(logits * 1, targets)
            except IndexError as error:
                errors.append(str(error))
        return errors

    @case
    def raising_hook(logits, targets):
        hidden = logits * 1
        hidden.register_hook(lambda gradient: 1 / 0)
        loss = F.cross_entropy(hidden, targets)
        try:
            loss.backward(retain_graph=True)
        except ZeroDivisionError:
            pass
        other = F.cross_entropy(logits * 1, targets)
        return both(other, logits)

    @case
    def raising_hook_after_the_gradient(logits, targets):
        results = []
        for retain in (False, True):
            hidden = logits * 1
            hidden.grad_fn.register_hook(lambda inputs, outputs: 1 / 0)
            loss = F.cross_entropy(hidden, targets)
            del hidden
            for _ in range(2):
                try:
                    loss.backward(retain_graph=retain)
                except (ZeroDivisionError, RuntimeError) as error:
                    results.append(str(error))
        return results

    @case
    def raising_hook_of_log_softmax(logits, targets):
        calls = []

        def fails_once(inputs, outputs):
            calls.append(inputs[0].clone())
            if len(calls) == 1:
                raise ValueError
        loss = F.cross_entropy(logits * 1, targets)
        node = loss.grad_fn.next_functions[0][0]
        node.register_hook(fails_once)
        try:
            loss.backward()
        except ValueError:
            pass
        return node._saved_result.detach().clone(), calls

    @case
    def second_graph(logits, targets):
        hidden = logits * 1
        loss = F.cross_entropy(hidden, targets)
        del hidden
        other = loss.grad_fn._saved_self.exp().square().sum()
        other.backward()
        return loss.grad_fn._saved_self.detach().clone(), logits.grad.clone()

    @case
    def gradients_without_logits(logits, targets):
        results = []
        for accumulated in range(3):
            F.cross_entropy(logits * 1, targets).backward()
            results.append(logits.grad.clone())
            hidden = logits * 1
            view = hidden[:300]
            loss = F.cross_entropy(hidden, targets)
            del hidden
            loss.backward()
            results += [view.detach().clone(), logits.grad.clone()]
            hidden = (logits * 1).view(20, 20, 97)
            F.cross_entropy(hidden.flatten(0, 1), targets).backward()
            results += [hidden.detach().clone(), logits.grad.clone()]
            hidden = torch.cat((logits * 1, logits * 2))
            loss = F.cross_entropy(hidden[:400], targets)
            del hidden
            loss.backward()
            hidden = logits * 1
            squares = hidden.square().sum()  # its node saved the logits
            loss = F.cross_entropy(hidden, targets)
            del hidden
            (loss + squares).backward()
            results.append(logits.grad.clone())
        return results

    @case
    def in_threads(logits, targets):
        gradients = [None] * 4

        def work(number):
            x = logits.detach().clone().mul_(number + 1).requires_grad_()
            for _ in range(5):
                x.grad = None
                F.cross_entropy(x * 1, targets).backward()
            gradients[number] = x.grad

        threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return gradients

    @case
    def without_gradients(logits, targets):
        with torch.no_grad():
            first = F.cross_entropy(logits * 1, targets)
        with torch.inference_mode():
            second = F.cross_entropy(logits * 1, targets)
        return first, second.clone(), F.cross_entropy(logits.detach(), targets)

    @case
    def transforms(logits, targets):
        def loss(x):
            return F.cross_entropy(x * 1, targets)
        x = logits.detach()
        per_sample = torch.func.vmap(lambda a, b: F.cross_entropy(a[None], b[None]))(x[1:5], targets[1:5])
        return torch.func.grad(loss)(x), per_sample, torch.func.jvp(loss, (x,), (torch.ones_like(x),))

    @case
    def other_state(logits, targets):
        loss = F.cross_entropy(logits * 1, targets)
        torch.set_num_threads(2)
        result = both(loss, logits)
        torch.set_num_threads(1)
        return result

    @case
    def log_softmax_alone(logits, targets):
        log_probabilities = F.log_softmax(logits * 1, 1)
        return both(F.nll_loss(log_probabilities, targets) + log_probabilities[3, 4], logits)

    return results


def trained():
    """Steps of a small language model, as loops are written."""
    results = []
    for dtype, cast in ((None, False), (torch.bfloat16, False), (torch.bfloat16, True)):
        torch.manual_seed(1)
        model = torch.nn.Sequential(torch.nn.Embedding(301, 32), torch.nn.Linear(32, 64), torch.nn.GELU(), torch.nn.Linear(64, 301))
        optimizer = torch.optim.AdamW(model.parameters())
        for _ in range(4):
            tokens = torch.randint(0, 301, (8, 65))
            optimizer.zero_grad()
            with torch.autocast("cpu", dtype=torch.bfloat16, enabled=dtype is not None):
                logits = model(tokens[:, :-1])
                if cast:
                    logits = logits.float()
                loss = F.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            results.append(loss.item())
        results += [p.detach().clone() for p in model.parameters()]
    return {"trained": results}


if __name__ == "__main__":
    torch.manual_seed(0)
    torch.save(globals()[sys.argv[1]](), sys.argv[2])
