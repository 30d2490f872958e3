"""Makes rows from the observations: the fields needed for each set of wanted gradients, and the attributes that
decide."""

import collections
import itertools
import json

from experiment import NEEDED, NEVER, SECOND_ORDER, WEAK

FORMAT = 1
DEPENDS = "depends"  # depends on values, or on properties without an attribute
MOST_OPERATORS = 5  # named in a row
MOST_SPLITS = 3  # attributes that may decide together
LEAST_SAMPLES = 2  # on each side of a split
LEAST_NEVER = 8  # samples for a "never": fewer samples may share their values by chance
MOST_INTEGERS = 6  # values of an integer that may be a kind of something; of more, or of a dimension, it is a place


def _settings():
    return collections.defaultdict(collections.Counter)


class Evidence:
    """Observations of all operators together: (node, field, wanted) -> attributes -> outcome -> samples."""

    def __init__(self):
        self.seen = collections.defaultdict(_settings)
        self.edges = collections.defaultdict(set)  # node -> numbers of edges
        self.operators = collections.defaultdict(set)  # (node, field, wanted, attributes) -> names
        self.read = collections.defaultdict(bool)

    def add(self, operator, answer):
        for key, outcomes in answer["outcomes"].items():
            self.edges[key.node].add(key.edges)
            self.seen[key.node, key.field, key.wanted][key.attributes].update(outcomes)
            self.operators[key.node, key.field, key.wanted, key.attributes].add(operator)
        for row, was_read in answer["read"].items():
            self.read[row] |= was_read

    def merge(self, other):
        for row, settings in other.seen.items():
            for attributes, outcomes in settings.items():
                self.seen[row][attributes].update(outcomes)
        for mine, more in ((self.edges, other.edges), (self.operators, other.operators)):
            for key, values in more.items():
                mine[key] |= values
        for key, was_read in other.read.items():
            self.read[key] |= was_read

    def groups(self):
        """(node, field, wanted or "any") -> [Group], with one of a kind for each setting of attributes."""
        found = collections.defaultdict(dict)
        for (node, field, wanted), settings in self.seen.items():
            merged = found[node, field, "any" if len(self.edges[node]) > 1 else wanted]
            for attributes, outcomes in settings.items():
                group = merged.setdefault(attributes, Group(dict(attributes)))
                group.outcomes.update(outcomes)
                group.operators |= self.operators[node, field, wanted, attributes]
                group.read |= self.read[node, field, wanted, attributes]
        return {key: list(groups.values()) for key, groups in found.items()}


class Group:
    """Observations with one setting of a node's attributes, or with several equivalent settings."""

    def __init__(self, attributes):
        self.attributes = attributes
        self.outcomes = collections.Counter()
        self.operators = set()
        self.read = False

    def merge(self, others):
        for other in others:
            self.outcomes.update(other.outcomes)
            self.operators |= other.operators
            self.read |= other.read
        return self

    def strong(self):
        """Gradients that are all zeros count only if all samples have such gradients."""
        counted = {k: n for k, n in self.outcomes.items() if k != WEAK}
        return counted or {NEVER: self.outcomes[WEAK]}

    def samples(self):
        return sum(self.strong().values())

    def need(self):
        """The one need of all samples; None if they differ. If double backward needs the field in any sample, the need
        is "second_order"."""
        kinds = set(self.strong())
        if kinds == {NEVER, SECOND_ORDER}:
            return SECOND_ORDER
        return kinds.pop() if len(kinds) == 1 else None


def _candidates(groups):
    """Attributes that may decide, with their costs: booleans and presence, then text, then small integers."""
    names = set.intersection(*(set(g.attributes) for g in groups))
    found = {}
    for name in sorted(names):
        values = {g.attributes[name] for g in groups}
        if len(values) < 2:
            continue
        kinds = {type(v) for v in values} - {type(None)}
        if kinds <= {bool} or values <= {None, "Tensor"}:
            found[name] = 1
        elif kinds <= {str}:
            found[name] = 2
        elif kinds <= {int, bool} and len(values) <= MOST_INTEGERS and not name.startswith("dim"):
            found[name] = 3
    return found


def _by(groups, names):
    merged = {}
    for group in groups:
        setting = tuple((name, group.attributes[name]) for name in names)
        merged.setdefault(setting, Group(dict(setting))).merge([group])
    return list(merged.values())


def _is_clean(parts):
    """Does each part have one need, and each need enough samples to be no accident?"""
    samples = collections.Counter()
    for part in parts:
        if part.need() is None:
            return False
        samples[part.need()] += part.samples()
    return all(count >= LEAST_SAMPLES for count in samples.values())


def split(groups):
    """The parts that have one need each, by the smallest set of attributes that makes them; or everything as one."""
    whole = _by(groups, ())
    if whole[0].need() is not None:
        # Double backward needs it somewhere: perhaps an attribute says where.
        if set(whole[0].strong()) != {NEVER, SECOND_ORDER}:
            return whole
    costs = _candidates(groups)
    for count in range(1, MOST_SPLITS + 1):
        ranked = sorted(itertools.combinations(costs, count), key=lambda names: (sum(costs[n] for n in names), names))
        for names in ranked:
            parts = _by(groups, names)
            if _is_clean(parts) and len({part.need() for part in parts}) > 1:
                return parts
    return whole


def _kinds(groups):
    """Possible values of booleans, presence and text: name -> values; None: unknown."""
    found = collections.defaultdict(set)
    for group in groups:
        for name, value in group.attributes.items():
            found[name].add(value)
    known = {}
    for name, values in found.items():
        kinds = {type(v) for v in values} - {type(None)}
        if kinds == {bool}:
            known[name] = values | {False, True}
        elif values == {None, "Tensor"}:
            known[name] = values
        elif kinds == {str} and "Tensor" not in values:
            known[name] = None
    return known


def _certain(part, field, groups, alike):
    """A "never" says nothing of values that were not seen with it: the settings for which it was seen. `alike`: all that
    was seen of nodes of that type which want the same gradients."""
    of_part = lambda group: all(group.attributes.get(n) == v for n, v in part.attributes.items())
    mine = list(filter(of_part, groups))
    unsure = [name for name, values in _kinds(filter(of_part, alike)).items()
              if name != field and (values is None or {g.attributes.get(name) for g in mine} != values)]
    parts = _by(mine, sorted({*part.attributes, *unsure}))
    return [p for p in parts if p.samples() >= LEAST_NEVER]


def rows(evidence):
    by_row = evidence.groups()
    # The saved tensors depend on the wanted gradients, so only nodes with the same wanted gradients show the possible
    # values.
    alike = collections.defaultdict(list)
    for (node, _, wanted), groups in by_row.items():
        alike[node, wanted] += groups
    made = []
    for (node, field, wanted), groups in by_row.items():
        for part in split(groups):
            need = part.need() or DEPENDS
            for row in _certain(part, field, groups, alike[node, wanted]) if need == NEVER else [part]:
                made.append({
                    "node": node, "field": field, "wanted": wanted if wanted == "any" else list(wanted),
                    "when": dict(sorted(row.attributes.items())), "need": need, "read": row.read or need != NEVER,
                    "samples": row.samples(), "operators": sorted(row.operators)[:MOST_OPERATORS]})
    return sorted(made, key=lambda row: json.dumps([row[k] for k in ("node", "field", "wanted", "when")]))


def attributes_of(table_rows):
    """Attributes of a node that a recording must have to select its rows of "never"."""
    found = collections.defaultdict(set)
    for row in table_rows:
        if row["need"] == NEVER:
            found[row["node"]].update(row["when"])
    return {node: sorted(names) for node, names in sorted(found.items()) if names}


def contradictions(table_rows, evidence):
    """Rows of "never" for which the evidence shows a need, with that evidence."""
    by_field = collections.defaultdict(list)
    for row in table_rows:
        if row["need"] == NEVER:
            by_field[row["node"], row["field"]].append(row)
    found = []
    for (node, field, wanted), settings in evidence.seen.items():
        for attributes, outcomes in settings.items():
            if not outcomes[NEEDED] and not outcomes[SECOND_ORDER]:
                continue
            said = dict(attributes)
            for row in by_field[node, field]:
                if row["wanted"] in ("any", list(wanted)) and all(said.get(n) == v for n, v in row["when"].items()):
                    found.append((row, said, dict(outcomes), sorted(evidence.operators[node, field, wanted, attributes])))
    return found


def write(path, header, table_rows):
    """One row a line, so that a change of one is a change of one line."""
    lines = [f'  {json.dumps(key)}: {json.dumps(value)},' for key, value in header.items()]
    body = ",\n".join("    " + json.dumps(row) for row in table_rows)
    with open(path, "w", encoding="utf-8") as file:
        file.write("{\n" + "\n".join(lines) + '\n  "rows": [\n' + body + "\n  ]\n}\n")


def read(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)
