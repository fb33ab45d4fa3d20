"""The import rules hold, and the check of them can fail."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from orchestrator.contract import errors

ROOT = Path(__file__).parents[2]
LINES_AT_MOST = 400


def lint_imports(folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        (Path(sys.executable).with_name("lint-imports"), "--no-cache"),
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(folder), "COLUMNS": "200"},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A copy of the sources, for a test to break."""
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    for package in ("orchestrator", "workers"):
        shutil.copytree(
            ROOT / package, tmp_path / package, ignore=shutil.ignore_patterns("__pycache__", "bin")
        )
    return tmp_path


def test_import_contracts_hold() -> None:
    done = lint_imports(ROOT)

    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize(
    ("place", "line", "told"),
    [
        ("orchestrator/stray.py", "", "orchestrator.stray"),
        ("workers/stray.py", "", "workers.stray"),
        ("orchestrator/planner.py", "import subprocess", "orchestrator.planner -> subprocess"),
        ("orchestrator/stats/__init__.py", "import sqlalchemy", "orchestrator.stats -> sqlalchemy"),
        ("workers/pool.py", "import orchestrator.store", "workers.pool -> orchestrator.store"),
        ("workers/tasks.py", "import paramiko", "workers.tasks -> paramiko"),
        ("orchestrator/collector.py", "import workers.ssh", "orchestrator.collector -> workers"),
        ("orchestrator/report/__init__.py", "import orchestrator.api", "orchestrator.report ->"),
        ("orchestrator/cli/client.py", "import orchestrator.service", "orchestrator.cli.client ->"),
    ],
)
def test_a_broken_rule_is_told(copy: Path, place: str, line: str, told: str) -> None:
    with (copy / place).open("a") as source:
        source.write(f"\n{line}\n")

    done = lint_imports(copy)

    assert done.returncode == 1
    assert told in done.stdout


def test_a_worker_loads_nothing_of_the_store() -> None:
    program = "import sys, workers.app; print(*sorted(sys.modules))"
    loaded = subprocess.run(
        (sys.executable, "-c", program), capture_output=True, text=True, check=True
    ).stdout.split()

    unwanted = {"sqlalchemy", "fastapi", "scipy", "orchestrator.store", "orchestrator.service"}
    assert unwanted.isdisjoint(loaded)


def test_importing_the_package_loads_nothing_else() -> None:
    program = "import sys; n = set(sys.modules); import orchestrator; print(*set(sys.modules) - n)"
    loaded = subprocess.run(
        (sys.executable, "-c", program), capture_output=True, text=True, check=True
    ).stdout.split()

    assert set(loaded) <= {"orchestrator", "__future__"}


def error_classes(kind: type[errors.LabError] = errors.LabError) -> Iterator[type[errors.LabError]]:
    yield kind
    for child in kind.__subclasses__():
        yield from error_classes(child)


def test_every_error_has_a_code_of_its_own_and_says_what_it_means() -> None:
    kinds = list(error_classes())

    assert [code for code, n in Counter(kind.code for kind in kinds).items() if n > 1] == []
    assert [kind for kind in kinds if not kind.__doc__] == []
    assert {kind.exit_code for kind in kinds} <= {2, 4}


def test_no_source_file_is_over_its_limit() -> None:
    sources = [
        path
        for folder in ("orchestrator", "workers", "tests")
        for kind in ("*.py", "*.c", "*.h")
        for path in (ROOT / folder).rglob(kind)
    ]

    lines = {str(path.relative_to(ROOT)): len(path.read_text().splitlines()) for path in sources}
    assert lines
    assert {name: n for name, n in lines.items() if n > LINES_AT_MOST} == {}
