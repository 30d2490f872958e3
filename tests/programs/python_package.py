"""The Python package of the build that is tested, for the tests and for the programs that they run."""

import sys

import harness

ENVIRONMENT = {"PYTHONPATH": str(harness.PACKAGE)}
sys.path.insert(0, str(harness.PACKAGE))
