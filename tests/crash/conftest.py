"""These tests use the fixtures of tests/programs."""

from pathlib import Path
import sys

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "programs"))

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
