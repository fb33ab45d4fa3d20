"""The demo's machine is a host like any other: no other code knows its names."""

from __future__ import annotations

from pathlib import Path

from orchestrator.local import demo

ROOT = Path(__file__).parent.parent.parent


def test_no_code_but_the_demo_names_the_demos_machine() -> None:
    known = {
        str(path.relative_to(ROOT))
        for package in ("orchestrator", "workers", "playbooks")
        for path in (ROOT / package).rglob("*")
        if path.suffix in (".py", ".sh", ".yaml")
        and any(name in path.read_text() for name in demo.NAMES)
    }
    assert known == {"orchestrator/local/demo.py"}
