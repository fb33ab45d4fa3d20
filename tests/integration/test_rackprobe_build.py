"""The probe's build: the same bytes everywhere, whoever calls, and never without a reason."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from orchestrator.contract import errors
from workers.payload.rackprobe import build

PROJECT = Path(__file__).parents[2]
BUILD = """
import pathlib, sys
from workers.payload.rackprobe import build
print(build.binary(build.TARGETS[sys.argv[1]], cache=pathlib.Path(sys.argv[2])))
"""


def digest(path: Path) -> str:
    """SHA-256 of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.fixture(autouse=True)
def _no_prebuilt(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A wheel that was built in this checkout may have left its binaries."""
    monkeypatch.setattr(build, "PREBUILT", tmp_path / "no-wheel")


@pytest.mark.parametrize("name", build.TARGETS)
def test_build_in_two_folders_gives_the_same_bytes(name: str, tmp_path: Path) -> None:
    target = build.TARGETS[name]

    first = build.binary(target, cache=tmp_path / "a")
    second = build.binary(target, cache=tmp_path / "deeper" / "b")

    assert digest(first) == digest(second)
    assert first.stat().st_size <= 64 * 1024
    assert first.stat().st_mode & 0o777 == 0o755


def test_build_holds_no_path_of_this_machine(tmp_path: Path) -> None:
    content = build.binary(build.TARGETS["x86_64"], cache=tmp_path).read_bytes()

    assert str(tmp_path).encode() not in content
    assert str(PROJECT).encode() not in content


def test_binary_is_compiled_once(tmp_path: Path) -> None:
    target = build.TARGETS["x86_64"]
    first = build.binary(target, cache=tmp_path)
    made = first.stat().st_mtime_ns

    assert build.binary(target, cache=tmp_path) == first
    assert first.stat().st_mtime_ns == made


def test_parallel_callers_get_one_whole_binary(tmp_path: Path) -> None:
    target = build.TARGETS["i486"]

    with ThreadPoolExecutor(4) as threads:
        found = {*threads.map(lambda _: build.binary(target, cache=tmp_path), range(4))}

    assert len(found) == 1
    assert {path.name for path in tmp_path.iterdir()} == {found.pop().name, "zig"}


def test_build_needs_no_home(tmp_path: Path) -> None:
    environment = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", "PYTHONPATH": str(PROJECT)}

    command = (sys.executable, "-c", BUILD, "x86_64", str(tmp_path))
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)

    assert Path(done.stdout.strip()).is_file()


def test_missing_compiler_is_told_with_its_mend(tmp_path: Path) -> None:
    # -S: Python without what is installed beside it
    command = (sys.executable, "-S", "-c", BUILD, "i486", str(tmp_path))
    environment = {"PYTHONPATH": str(PROJECT)}

    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)

    assert "LabError" in done.stderr
    assert "ziglang is not installed; pip install 'benchrack[build]'" in done.stderr


def test_source_that_does_not_compile_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sources = tmp_path / "sources"
    sources.mkdir()
    (sources / "main.c").write_text("int main(void) { return unknown; }\n")
    monkeypatch.setattr(build, "SOURCES", sources)

    with pytest.raises(errors.LabError, match=r"x86_64 does not compile: main\.c:1"):
        build.binary(build.TARGETS["x86_64"], cache=tmp_path / "cache")
    assert [path.name for path in (tmp_path / "cache").iterdir()] == ["zig"]


def test_prebuilt_binary_is_taken_while_its_sources_are_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = build.TARGETS["aarch64"]
    monkeypatch.setattr(build, "PREBUILT", tmp_path)
    carried = tmp_path / "rackprobe-aarch64"
    carried.write_bytes(b"carried")
    manifest = tmp_path / build.MANIFEST

    manifest.write_text(json.dumps({"aarch64": build.content_hash(target)}))
    assert build.binary(target, cache=tmp_path / "cache") == carried
    manifest.write_text(json.dumps({"aarch64": "0" * 64}))
    assert build.prebuilt(target) is None


@pytest.mark.parametrize(
    ("machine", "target"),
    [
        ("x86_64", "x86_64"),
        ("i386", "i486"),
        ("i486", "i486"),
        ("i586", "i486"),
        ("i686", "i486"),
        ("aarch64", "aarch64"),
    ],
)
def test_machine_has_its_target(machine: str, target: str) -> None:
    assert build.target_for(machine).name == target


def test_machine_that_is_not_known_is_a_misfit() -> None:
    with pytest.raises(errors.Misfit, match="'riscv64', only on x86_64, i486, aarch64"):
        build.target_for("riscv64")


def test_wheel_carries_what_a_worker_and_a_controller_need(tmp_path: Path) -> None:
    checkout = tmp_path / "checkout"
    tracked = subprocess.run(
        ("git", "ls-files", "-z"), cwd=PROJECT, capture_output=True, check=True
    ).stdout.split(b"\0")
    for name in map(os.fsdecode, filter(None, tracked)):
        if (PROJECT / name).is_file():
            (checkout / name).parent.mkdir(parents=True, exist_ok=True)
            (checkout / name).write_bytes((PROJECT / name).read_bytes())

    subprocess.run(
        (sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path / "out")),
        cwd=checkout,
        check=True,
        capture_output=True,
    )

    with zipfile.ZipFile(next((tmp_path / "out").glob("*.whl"))) as wheel:
        names = set(wheel.namelist())
        carried = json.loads(wheel.read("workers/payload/bin/rackprobe.json"))
        bytes_of_i486 = wheel.read("workers/payload/bin/rackprobe-i486")
    needed = {
        *(f"workers/payload/bin/rackprobe-{name}" for name in build.TARGETS),
        *(name for name in map(os.fsdecode, tracked) if name.endswith((".sh", ".mako"))),
    }
    outside = {name for name in needed if not name.startswith(("orchestrator/", "workers/"))}
    assert needed - outside <= names
    assert any(name.startswith("orchestrator/_playbooks/") for name in names)
    assert carried == {name: build.content_hash(build.TARGETS[name]) for name in build.TARGETS}
    own = build.binary(build.TARGETS["i486"], cache=tmp_path / "cache")
    assert hashlib.sha256(bytes_of_i486).hexdigest() == digest(own)
