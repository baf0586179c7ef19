"""Runs tests of mpi4py's source: mpi4py_suite.py FOLDER MODULE... Rank 0 prints the outcome of each."""

import sys
import unittest

import mpi4py

# Open MPI's `mtl ofi` neither acknowledges synchronous sends to matched receives nor survives MPI_Cancel of a send.
mpi4py.rc.recv_mprobe = False
from mpi4py import MPI  # noqa: E402 - the setting above has to stand first

# The last two fail with every provider, and leave messages behind that a later test finds when their communicator's number
# is used again.
LEFT_OUT = ("testCancel", "testManyISendAndRecv", "testMixed")


def tests_of(suite):
    for test in suite:
        if isinstance(test, unittest.TestSuite):
            yield from tests_of(test)
        elif not test.id().endswith(LEFT_OUT):
            yield test


sys.path.insert(0, sys.argv[1])
for module in sys.argv[2:]:
    for test in tests_of(unittest.defaultTestLoader.loadTestsFromName(module)):
        outcome = unittest.TestResult()
        test.run(outcome)
        if MPI.COMM_WORLD.Get_rank() == 0:
            state = "skipped" if outcome.skipped else "passed" if outcome.wasSuccessful() else "FAILED"
            print(test.id(), state, flush=True)
