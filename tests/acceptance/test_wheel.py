"""The wheel: built from the sources, installed into an empty venv, and a lab run from it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests import services
from tests.acceptance import labs

ROOT = Path(__file__).parent.parent.parent
pytestmark = pytest.mark.timeout(400)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    source = folder / "source"
    # built from a copy: the build puts the probe's binaries into the tree that it is executed in
    ignored = shutil.ignore_patterns(".git", ".venv*", ".*_cache", "__pycache__", "demo-state*")
    shutil.copytree(ROOT, source, ignore=ignored)
    command = (sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder))
    done = subprocess.run(command, cwd=source, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    (built,) = folder.glob("*.whl")
    return built


def test_wheel_carries_what_is_no_python_and_nothing_else(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    for wanted in (
        "orchestrator/_playbooks/sched-latency-idle.yaml",
        "orchestrator/contract/facts.sh",
        "orchestrator/playbook/parts/main.sh",
        "orchestrator/store/migrations/versions/0001_first_tables.py",
        "workers/payload/parts/verbs.sh",
        "workers/payload/bin/rackprobe-i486",
        "workers/payload/bin/rackprobe-x86_64",
    ):
        assert wanted in names
    tops = {name.split("/")[0] for name in names}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"orchestrator", "workers"}


@pytest.mark.needs("sshd")
def test_wheel_in_an_empty_venv_executes_a_job(
    wheel: Path, tmp_path: Path, sshd: services.Server, keys: services.Keys
) -> None:
    venv = tmp_path / "venv"
    python = venv / "bin" / "python"
    subprocess.run((sys.executable, "-m", "venv", "--without-pip", str(venv)), check=True)
    pip = (
        sys.executable,
        "-m",
        "pip",
        "--python",
        str(python),
        "install",
        "--quiet",
        "--no-compile",
    )
    lock = ("--require-hashes", "-r", str(ROOT / "requirements.lock"))
    subprocess.run((*pip, *lock), check=True)
    subprocess.run((*pip, "--no-deps", str(wheel)), check=True)
    # the probe is carried, so its compiler is not asked for
    subprocess.run((*pip[:-3], "uninstall", "--quiet", "--yes", "ziglang"), check=True)

    # not from the checkout, where the sources would be found before the installed packages
    environ = {
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path),
        "BENCHRACK_STATE": str(tmp_path / "s"),
    }
    up = subprocess.Popen((venv / "bin" / "benchrack", "up"), cwd=tmp_path, env=environ)

    def call(*words: str) -> str:
        command = (venv / "bin" / "benchrack", "--json", *words)
        return subprocess.run(
            command, cwd=tmp_path, env=environ, check=True, capture_output=True, text=True
        ).stdout

    try:
        services.wait_for(lambda: (tmp_path / "s" / "api.json").exists(), "the API", within_s=60)
        call(
            *("host", "add", "alpha", "--address", sshd.address, "--port", str(sshd.port)),
            *("--user", sshd.user, "--key", str(keys.folder / "id"), "--base", f"{tmp_path}/base"),
            *("--fingerprint", labs.fingerprint(sshd)),
        )
        call(
            *("submit", "sched-latency-idle", "--host", "alpha", "--set", "samples=200"),
            *("--set", "policy=other", "--repeat", "1", "--warmup", "0"),
            *("--noise", "note", "--wait"),
        )
        (row,) = json.loads(call("results", "--metric", "latency"))[0]["rows"]
    finally:
        up.terminate()
        up.wait(30)
    assert (row["runs"], row["samples"]) == (1, 200)
