"""What all benchmarks share. Their figures mean something on a quiet machine only."""

from __future__ import annotations

import gc
from collections.abc import Generator, Iterator

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


@pytest.fixture(autouse=True)
def garbage_dies_before_qt() -> Iterator[None]:
    """Widgets that wait for a collection outlived the application, and the process crashed when
    all was done."""
    yield
    gc.collect()


@pytest.fixture
def verdict(quick: bool, request: pytest.FixtureRequest) -> Verdict:
    """Judged when the benchmark has ended."""
    print(f"\n{request.node.name}")
    return Verdict(judges=not quick)


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> Generator[None, object, object]:
    """A broken bound is a failure of the benchmark, and not of the cleaning up behind it."""
    result = yield
    verdict = pyfuncitem.funcargs.get("verdict")
    if isinstance(verdict, Verdict):
        verdict.close()
    return result
