"""Long suites run sampled: `@pytest.mark.sampled(12)` on a parametrized test keeps twelve of its cases, the same ones each
time, and half as many of them where TAPELENS_TEST_HALF is set (scripts/test, for all but the newest PyTorch).
`scripts/test --all`, or TAPELENS_TEST_ALL=1, runs every case; TAPELENS_TEST_SEED draws another sample."""

import os
import random

ALL = os.environ.get("TAPELENS_TEST_ALL") == "1"
HALF = os.environ.get("TAPELENS_TEST_HALF") == "1"
SEED = os.environ.get("TAPELENS_TEST_SEED", "0")


def configure(config):
    config.addinivalue_line("markers", "sampled(count): only so many cases of this test run, unless all are asked for")


def choose(config, items):
    """For pytest_collection_modifyitems: deselects all cases outside of the sample."""
    if ALL:
        return
    cases = {}
    for item in items:
        marker = item.get_closest_marker("sampled")
        if marker is not None:
            cases.setdefault((item.nodeid.split("[")[0], marker.args[0]), []).append(item)
    left_out = set()
    for (test, count), own in cases.items():
        count = -(-count // 2) if HALF else count
        if count < len(own):
            kept = random.Random(f"{SEED} {test}").sample(range(len(own)), count)
            left_out.update(item for number, item in enumerate(own) if number not in kept)
    if left_out:
        config.hook.pytest_deselected(items=list(left_out))
        items[:] = [item for item in items if item not in left_out]
