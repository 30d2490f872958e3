"""Fails early and clearly where the build is missing."""

import pytest

import harness


def pytest_configure(config):
    config.addinivalue_line("markers", "slow: takes more than a minute")


@pytest.fixture(scope="session", autouse=True)
def built():
    if not harness.BINARY.exists():
        pytest.exit(f"{harness.BINARY} is missing: run scripts/build, or set TAPELENS_BINARY", returncode=2)


@pytest.fixture
def target(tmp_path):
    return tmp_path / "run.tapelens"
