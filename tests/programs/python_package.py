"""Selects the Python package of the tested build, for the tests and for their programs."""

import sys

import harness

ENVIRONMENT = {"PYTHONPATH": str(harness.PACKAGE)}
sys.path.insert(0, str(harness.PACKAGE))
