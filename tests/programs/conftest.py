"""Fails early, with a clear message, if the build is missing."""

import pytest

import harness
from sampling import pytest_collection_modifyitems, pytest_configure, pytest_runtest_setup, pytest_sessionfinish  # noqa: F401


@pytest.fixture(scope="session", autouse=True)
def built():
    if not harness.BINARY.exists():
        pytest.exit(f"{harness.BINARY} is missing: run scripts/build, or set TAPELENS_BINARY", returncode=2)


@pytest.fixture
def target(tmp_path):
    return tmp_path / "run.tapelens"
