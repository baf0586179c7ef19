"""What the tests share."""

import signal
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[4]

SMALL = {
    "name": "small",
    "kind": "gpu",
    "machine": "gtx480",
    "workload": {"name": "vector-add", "elements": 4096},
    "transfer": {"mode": "multi-range", "page_size": "4 KiB", "unit": "128 B"},
}


@pytest.fixture(autouse=True, scope="session")
def ctrl_c() -> None:
    """What a shell starts in the background ignores Ctrl-C, and so would these tests and their children."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def small() -> dict:
    """A scenario of a few milliseconds."""
    return {key: dict(value) if isinstance(value, dict) else value for key, value in SMALL.items()}


@pytest.fixture
def root() -> Path:
    """The repository."""
    return ROOT


@pytest.fixture
def pagemill_command() -> str:
    """The command, built beside the package."""
    import os

    command = os.environ.get("PAGEMILL")
    if not command:
        pytest.fail("the environment variable PAGEMILL has to name the command `pagemill`")
    return command
