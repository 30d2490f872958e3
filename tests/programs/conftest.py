"""Fails early, with a clear message, if the build is missing."""

import pytest

import harness
import sampling


def pytest_configure(config):
    sampling.configure(config)


def pytest_collection_modifyitems(config, items):
    sampling.choose(config, items)


@pytest.fixture(scope="session", autouse=True)
def built():
    if not harness.BINARY.exists():
        pytest.exit(f"{harness.BINARY} is missing: run scripts/build, or set TAPELENS_BINARY", returncode=2)


@pytest.fixture
def target(tmp_path):
    return tmp_path / "run.tapelens"
