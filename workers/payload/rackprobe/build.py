"""The probe as a binary: taken from the wheel, or compiled once and kept.

The same sources, flags and compiler give the same bytes, whatever the folder. One hash over all
of these names a binary in the cache and tells whether the one in the wheel still fits.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import importlib.util
import json
import os
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from orchestrator.contract import errors

#: the only compiler whose bytes are known; also in pyproject.toml
ZIG_VERSION: Final = "0.17.1"
#: seconds; a cold compiler takes about one
_TIMEOUT_S: Final = 300

SOURCES: Final = Path(__file__).parent
PREBUILT: Final = SOURCES.parent / "bin"
MANIFEST: Final = "rackprobe.json"

_FLAGS: Final = (
    "-std=c11",
    "-Os",
    # there is no libc, no unwinder, and nothing that could be asked about a broken stack
    "-ffreestanding",
    "-nostdlib",
    "-static",
    "-fno-sanitize=all",
    "-fno-stack-protector",
    "-fno-unwind-tables",
    "-fno-asynchronous-unwind-tables",
    "-fomit-frame-pointer",
    "-ffunction-sections",
    "-fdata-sections",
    "-Wl,--gc-sections",
    "-s",
    "-Wall",
    "-Wextra",
    "-Werror",
    "-Wno-missing-field-initializers",
)


@dataclass(frozen=True, slots=True)
class Target:
    """A kind of machine that the probe is built for."""

    name: str
    #: machines that run it, as ``uname -m`` names them
    machines: re.Pattern[str]
    flags: tuple[str, ...]


TARGETS: Final = {
    target.name: target
    for target in (
        Target(
            "x86_64", re.compile("x86_64|amd64"), ("-target", "x86_64-linux-none", "-mcpu=x86_64")
        ),
        # every 32-bit x86: nothing that a 486 lacks, so one binary serves all. The address, because
        # the linker's own choice is the lowest that kernels let a process map
        Target(
            "i486",
            re.compile("i[3-6]86|x86"),
            ("-target", "x86-linux-none", "-mcpu=i486", "-Wl,--image-base=0x8048000"),
        ),
        Target(
            "aarch64",
            re.compile("aarch64|arm64"),
            ("-target", "aarch64-linux-none", "-mcpu=generic"),
        ),
    )
}


def target_for(uname_m: str) -> Target:
    """The target whose binary a machine runs, by its ``uname -m``.

    Raises: Misfit for a machine that the probe is not written for.
    """
    for target in TARGETS.values():
        if target.machines.fullmatch(uname_m):
            return target
    known = ", ".join(TARGETS)
    raise errors.Misfit(f"rackprobe does not run on a machine of kind {uname_m!r}, only on {known}")


def content_hash(target: Target) -> str:
    """SHA-256 over all that decides the bytes of a binary."""
    digest = hashlib.sha256()
    for word in (ZIG_VERSION, target.name, *target.flags, *_FLAGS):
        digest.update(word.encode() + b"\0")
    for source in sorted(SOURCES.glob("*.[ch]")):
        content = source.read_bytes()
        digest.update(f"{source.name}\0{len(content)}\0".encode() + content)
    return digest.hexdigest()


def prebuilt(target: Target) -> Path | None:
    """The binary that came with the wheel, if it is of these very sources."""
    try:
        manifest = json.loads((PREBUILT / MANIFEST).read_bytes())
    except FileNotFoundError:
        return None
    path = PREBUILT / f"rackprobe-{target.name}"
    fits = manifest.get(target.name) == content_hash(target) and path.is_file()
    return path if fits else None


def binary(target: Target, *, cache: Path) -> Path:
    """The probe for a target: the wheel's, else the one in the cache, else compiled now.

    Callers may come in parallel, in several processes. Nothing is written outside ``cache``.

    Raises: LabError if it has to be compiled and cannot be.
    """
    found = prebuilt(target)
    if found is not None:
        return found
    kept = cache / f"rackprobe-{target.name}-{content_hash(target)[:16]}"
    if not kept.is_file():
        cache.mkdir(parents=True, exist_ok=True)
        compile_to(kept, target, cache=cache)
    return kept


def compile_to(path: Path, target: Target, *, cache: Path) -> None:
    """Compile the probe; ``path`` is complete at every moment that it exists.

    Raises: LabError without the compiler, or with the compiler's first complaint.
    """
    _require_zig(target)
    define = (
        f'-DRACKPROBE_TARGET="{target.name}"',
        f'-DRACKPROBE_BUILD="{content_hash(target)[:16]}"',
    )
    # relative names, so that no path can find its way into the bytes
    names = sorted(source.name for source in SOURCES.glob("*.c"))
    with tempfile.TemporaryDirectory(dir=path.parent, prefix=".rackprobe-") as folder:
        made = Path(folder, "rackprobe")
        command = [sys.executable, "-m", "ziglang", "cc", *target.flags, *_FLAGS, *define]
        command += [*names, "-o", str(made.absolute())]
        try:
            done = subprocess.run(
                command,
                cwd=SOURCES,
                env=_environment(cache),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=_TIMEOUT_S,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise errors.LabError(
                f"the compiler has not built rackprobe for {target.name} within {_TIMEOUT_S} s"
            ) from None
        if done.returncode != 0 or not made.is_file():
            complaint = done.stderr.decode(errors="replace").strip().partition("\n")[0][:300]
            raise errors.LabError(f"rackprobe for {target.name} does not compile: {complaint}")
        made.chmod(0o755)
        made.replace(path)


def _require_zig(target: Target) -> None:
    mend = "pip install 'benchrack[build]'"
    if importlib.util.find_spec("ziglang") is None:
        raise errors.LabError(
            f"rackprobe for {target.name} has to be built and ziglang is not installed; {mend}"
        )
    found = importlib.metadata.version("ziglang")
    if found != ZIG_VERSION:
        raise errors.LabError(
            f"rackprobe is built with ziglang {ZIG_VERSION}, not the installed {found}; {mend}"
        )


def _environment(cache: Path) -> dict[str, str]:
    # the compiler would keep its own cache in the home, which may be read-only
    zig = str((cache / "zig").absolute())
    return os.environ | {"ZIG_LOCAL_CACHE_DIR": zig, "ZIG_GLOBAL_CACHE_DIR": zig}
