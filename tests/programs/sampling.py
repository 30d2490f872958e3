"""Long suites run sampled: `@pytest.mark.sampled(12)` on a parametrized test keeps twelve of its cases, the same ones each
time, and half as many of them where TAPELENS_TEST_HALF is set (scripts/test, for all but the newest PyTorch).
`scripts/test --all`, or TAPELENS_TEST_ALL=1, runs every case; TAPELENS_TEST_SEED draws another sample.

Where TAPELENS_TEST_UNTIL is set, in seconds since 1970, no test begins later: it is skipped, and named in the file
TAPELENS_TEST_LEFT_OUT. A suite of which no test ran ends with the code 77, which ctest knows as skipped."""

import os
import random
import time

import pytest

ALL = os.environ.get("TAPELENS_TEST_ALL") == "1"
HALF = os.environ.get("TAPELENS_TEST_HALF") == "1"
SEED = os.environ.get("TAPELENS_TEST_SEED", "0")
UNTIL = float(os.environ.get("TAPELENS_TEST_UNTIL", "inf"))
LEFT_OUT = os.environ.get("TAPELENS_TEST_LEFT_OUT")
NO_TEST_RAN = 77


def pytest_configure(config):
    config.addinivalue_line("markers", "sampled(count): only so many cases of this test run, unless all are asked for")


def pytest_collection_modifyitems(config, items):
    """Deselects all cases outside of the sample."""
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


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item):
    if time.time() < UNTIL:
        return
    if LEFT_OUT:
        with open(LEFT_OUT, "a") as file:
            file.write(f"{item.nodeid}\n")
    pytest.skip("the time is up")


def pytest_sessionfinish(session, exitstatus):
    reports = session.config.pluginmanager.get_plugin("terminalreporter").stats
    if time.time() >= UNTIL and exitstatus == 0 and not reports.get("passed"):
        session.exitstatus = NO_TEST_RAN
