"""The experiment on one operator: every saved field of every node that its samples make, for every subset of inputs
that require a gradient, with every stand-in. Runs in a separate process, since some kernels crash on stand-ins."""

import collections
import dataclasses
import os
import resource
import warnings

import torch

import graph
import standins

# Outcomes. WEAK: no difference, but all gradients are zeros, in which many a difference would not show.
NEVER, WEAK, SECOND_ORDER, NEEDED = "never", "weak", "second_order", "needed"
ANSWERS = [NEVER, SECOND_ORDER, NEEDED]  # exit codes of a child


@dataclasses.dataclass(frozen=True)
class Key:
    """The key of a table row, and the attributes that may split it."""

    node: str
    field: str
    wanted: tuple
    edges: int
    attributes: tuple


@dataclasses.dataclass
class Settings:
    dtype: torch.dtype
    seeds: tuple
    samples: int  # of each operator and seed, evenly spread over those that it has
    seconds: float  # of each operator; skipped samples after that are counted
    guards: int = 1  # trials per operator and row with the field on an unreadable page


class Evidence:
    """Observations of an operator: counts of outcomes, and the fields that a kernel read."""

    def __init__(self):
        self.outcomes = collections.defaultdict(collections.Counter)  # Key -> outcome -> samples
        self.read = collections.defaultdict(bool)  # (node, field, wanted, attributes) -> was it ever read
        self.skipped = collections.Counter()  # reason -> samples
        self.samples = 0
        self.runs = 0
        self.crashes = 0

    def result(self):
        return {"outcomes": {k: dict(v) for k, v in self.outcomes.items()}, "read": dict(self.read),
                "skipped": dict(self.skipped), "samples": self.samples, "runs": self.runs, "crashes": self.crashes}


def spread(items, most, number):
    """At most so many, evenly spread; others for another seed."""
    if len(items) <= most:
        return items
    return [items[int((i + number * 0.37 % 1) * len(items) / most)] for i in range(most)]


class Experiment:
    """`isolated`: runs every stand-in in a separate process, for an operator that has crashed on one."""

    def __init__(self, operator, settings, isolated):
        self.operator = operator
        self.settings = settings
        self.isolated = isolated
        self.evidence = Evidence()
        self.guards = collections.Counter()

    def run(self, is_late):
        for number in self.settings.seeds:
            graph.seed(number)
            samples = list(self.operator.sample_inputs("cpu", self.settings.dtype, requires_grad=True))
            for sample in spread(samples, self.settings.samples, number):
                if is_late():
                    self.evidence.skipped["out of time"] += 1
                    continue
                self.sample(sample)
        return self.evidence

    def sample(self, sample):
        places = graph.may_require_grad(sample)
        if not places:
            self.evidence.skipped["no input that may require a gradient"] += 1
            return
        used = False
        for wanted in graph.subsets(places):
            try:
                self.subset(sample, wanted)
                used = True
            except graph.Unusable as reason:
                self.evidence.skipped[str(reason)] += 1
        self.evidence.samples += used

    def subset(self, sample, wanted):
        forward = lambda: graph.forward(self.operator, sample, wanted)
        try:
            outputs, inputs = forward()
            nodes = graph.nodes_of(outputs)
            described = [self.describe(node) for node in nodes]
            if not any(fields for _, fields in described):
                return  # nothing is saved: nothing to find out
            baseline = graph.first_order(outputs, inputs)
            if baseline.tell() == graph.NOTHING:
                raise graph.Unusable("no gradient but NaN or nothing")
            if graph.first_order(*forward()).first != baseline.first:
                raise graph.Unusable("not deterministic")
        except graph.Unusable:
            raise
        except Exception as error:
            raise graph.Unusable(f"raises {type(error).__name__}") from error
        second = self.second_order(forward)
        for index, (key_of, fields) in enumerate(described):
            for field, tensors in fields.items():
                if all(t.numel() == 0 for t in tensors) or any(t.layout != torch.strided for t in tensors):
                    continue
                key = key_of(field)
                outcome = self.trial(forward, index, key, tensors, baseline.first, second)
                if outcome is None:
                    continue
                if outcome == NEVER and baseline.tell() == graph.ZEROS:
                    outcome = WEAK
                self.evidence.outcomes[key][outcome] += 1
                if outcome != NEEDED:
                    self.guard(forward, index, key)

    @staticmethod
    def describe(node):
        try:
            fields = graph.fields_of(node)
        except RuntimeError:  # changed in place since it was saved
            fields = {}
        wanted, edges, attributes = graph.wanted_of(node), len(node.next_functions), graph.attributes_of(node, fields)
        return lambda field: Key(node.name().removeprefix("torch::autograd::"), field, wanted, edges, attributes), fields

    @staticmethod
    def second_order(forward):
        """None if the operator has none."""
        try:
            bits = graph.second_order(*forward())
            return bits if graph.second_order(*forward()) == bits else None
        except (RuntimeError, NotImplementedError, IndexError, ValueError):
            return None

    def trial(self, forward, index, key, tensors, first, second):
        """None if no stand-in differs from the saved value: an index that can only be 0."""
        outcome = None
        # A kernel that uses a wrong index writes to wrong addresses, and later work in that process may fail. So these
        # trials run in processes that are not used again.
        isolated = self.isolated or not all(t.is_floating_point() or t.is_complex() for t in tensors)
        for name in dict.fromkeys(name for t in tensors for name in standins.fills_of(t)):
            make = lambda tensor, name=name: standins.fills_of(tensor).get(name, standins.other)(tensor)
            if all(torch.equal(make(t), t) for t in tensors):
                continue
            self.evidence.runs += 1
            compare = lambda make=make: self.compare(forward, index, key.field, make, first, second)
            seen = self.in_child(compare) if isolated else compare()
            if seen == NEEDED:
                return NEEDED
            outcome = SECOND_ORDER if SECOND_ORDER in (seen, outcome) else NEVER
        return outcome

    def compare(self, forward, index, field, make, first, second):
        try:
            if graph.first_order(*self.replaced(forward, index, field, make)).first != first:
                return NEEDED
        except Exception:  # any error of the kernel about values: it has read them
            return NEEDED
        try:
            if second is not None and graph.second_order(*self.replaced(forward, index, field, make)) != second:
                return SECOND_ORDER
        except Exception:
            return SECOND_ORDER
        return NEVER

    def in_child(self, compare):
        child = os.fork()
        if child == 0:
            limit_child()
            os._exit(ANSWERS.index(compare()))
        _, status = os.waitpid(child, 0)
        if os.WIFSIGNALED(status):
            self.evidence.crashes += 1
            return NEEDED
        return ANSWERS[os.WEXITSTATUS(status)]

    @staticmethod
    def replaced(forward, index, field, make):
        outputs, inputs = forward()
        graph.replace(graph.nodes_of(outputs)[index], field, make)
        return outputs, inputs

    def guard(self, forward, index, key):
        """Whether a kernel reads the field without an effect on the result. Tested in a process that may crash."""
        row = (key.node, key.field, key.wanted, key.attributes)
        if self.evidence.read[row] or self.guards[row] >= self.settings.guards:
            return
        self.guards[row] += 1
        child = os.fork()
        if child == 0:
            limit_child()
            try:
                graph.first_order(*self.replaced(forward, index, key.field, standins.guard_page))
            except Exception:
                os._exit(1)
            os._exit(0)
        _, status = os.waitpid(child, 0)
        self.evidence.read[row] = status != 0


def limit_child():
    """Limits a child, which may crash on a stand-in, or never end."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CPU, (60, 60))


def quiet():
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
