"""What all benchmarks share. Their figures mean something on a quiet machine only."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from verdict import Verdict


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--quick",
        action="store_true",
        help="Small sizes and no judgement: only to see that the benchmarks run.",
    )


@pytest.fixture(scope="session")
def quick(request: pytest.FixtureRequest) -> bool:
    return bool(request.config.getoption("--quick"))


@pytest.fixture
def verdict(quick: bool, request: pytest.FixtureRequest) -> Iterator[Verdict]:
    """Fails the benchmark at its end where a bound is broken."""
    made = Verdict(judges=not quick)
    print(f"\n{request.node.name}")
    yield made
    made.close()
