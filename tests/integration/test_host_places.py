"""Where the host's side keeps its things: the choice of the base, full disks, old kernels.

Each test has mounts of its own, in which it may fill, replace and forbid folders of the system.
"""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.integration import hosts
from workers import payload

pytestmark = pytest.mark.needs("unshare", "mount", "own-mounts")

NONCE = "0123456789abcdef"
RUN = f"{'a' * 32} 1 1"
#: all places of the list are empty and in memory; $HOME too
_PREPARE = f"""set -e
mount -t tmpfs none /mnt
cp "$1" /mnt/meet.sh
cp "$2" /mnt/hostrun.sh
for place in /var/lib /var/tmp /tmp /dev/shm; do mount -t tmpfs -o mode=1777 none $place; done
export HOME=/mnt/home
mkdir -p $HOME /var/lib/benchrack
uid=$(id -u)
boot=$(cat /proc/sys/kernel/random/boot_id)
set +e
meet() {{ sh -s -- {NONCE} "$@" </mnt/meet.sh; }}
call() {{ base=$1 && shift && sh /mnt/hostrun.sh {NONCE} $base {hosts.LAB} "$@"; }}
"""


@dataclass(frozen=True, slots=True)
class Stage:
    """A shell with mounts of its own."""

    folder: Path
    prefix: tuple[str, ...]

    def play(self, script: str) -> list[hosts.Answer]:
        """The answers of all calls in a script."""
        files = {"meet": payload.meet_script(), "hostrun": payload.hostrun_script()}
        for name, data in files.items():
            (self.folder / name).write_bytes(data)
        output = subprocess.run(
            (*self.prefix, "sh", "-c", _PREPARE + script, "sh", *files),
            cwd=self.folder,
            capture_output=True,
            check=False,
        )
        end = f"@@{NONCE} end\n".encode()
        answers = output.stdout.split(end)[:-1]
        assert answers, output.stderr
        return [hosts.read(answer + end, NONCE) for answer in answers]


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    return Stage(tmp_path, hosts.own_mounts())


def test_base_is_the_first_of_the_list(stage: Stage) -> None:
    (answer,) = stage.play("meet")
    assert answer.base == "/var/lib/benchrack/0"
    assert answer.volatile == "1"


def test_base_passes_over_what_others_could_have_laid_out(stage: Stage) -> None:
    # a link; a folder of someone else; a parent in which anybody may replace it
    (answer,) = stage.play("""
        mkdir /mnt/trap && ln -s /mnt/trap /var/lib/benchrack/$uid
        mkdir -m 777 $HOME/.benchrack
        chown 12345 $HOME/.benchrack 2>/dev/null || mount --bind /usr $HOME/.benchrack
        chmod 777 /var/tmp
        meet
    """)
    assert answer.base == "/tmp/benchrack-0"


def test_base_in_use_stays_when_an_earlier_place_becomes_free(stage: Stage) -> None:
    first, second = stage.play("""
        ln -s /mnt /var/lib/benchrack/$uid
        meet
        rm /var/lib/benchrack/$uid
        meet
    """)
    assert first.base == second.base == "/mnt/home/.benchrack"
    assert first.instance == second.instance


def test_base_asked_for_goes_first_and_is_passed_over_when_it_is_a_link(stage: Stage) -> None:
    asked, other = stage.play("""
        meet /mnt/own/base
        rm -rf /mnt/own/base && ln -s /tmp /mnt/own/base
        meet /mnt/own/base
    """)
    assert asked.base == "/mnt/own/base"
    assert other.base == "/var/lib/benchrack/0"


def test_base_in_use_that_became_read_only_is_refused(stage: Stage) -> None:
    _, met, started = stage.play(f"""
        mkdir /mnt/base && mount -t tmpfs none /mnt/base
        meet /mnt/base
        mount -o remount,ro /mnt/base
        meet /mnt/base
        echo : | call /mnt/base start {RUN} $boot 1 9 0 2
    """)
    assert met.status == "proto"
    assert met.detail == (
        "/mnt/base is in use but cannot be written; is its disk full or read-only?"
    )
    assert (started.status, started.detail) == (
        "proto",
        "/mnt/base cannot be written or is full",
    )


@pytest.mark.parametrize("left_kib", [0, 4, 8, 12, 16])
def test_start_on_a_full_base_leaves_nothing(stage: Stage, left_kib: int) -> None:
    # the script fits into the last page or not, and so do the files that follow
    full, freed, mended = stage.play(f"""
        mkdir /mnt/base && mount -t tmpfs -o size=256k none /mnt/base
        meet /mnt/base >/dev/null
        free=$(df -k /mnt/base | tail -n 1 | (read -r _ _ _ free _ && echo $free))
        dd if=/dev/zero of=/mnt/base/ballast bs=1024 count=$((free - {left_kib})) 2>/dev/null
        head -c 5000 /dev/zero | tr '\\000' '#' >/mnt/script
        call /mnt/base start {RUN} $boot 1 9 0 5000 </mnt/script
        rm /mnt/base/ballast
        find /mnt/base/r -mindepth 1 | sed 's/^/@@{NONCE} there=/'
        call /mnt/base poll {RUN}
        call /mnt/base reap {RUN}
    """)
    assert full.status in {"proto", "died", "done"}
    if full.status == "proto":
        assert freed.status == "absent"
        assert freed.there == freed.owner == ""
    assert mended.status == "clean"
    if left_kib == 0:
        assert full.status == "proto"


def test_kernel_without_a_boot_id_gets_one_that_lasts(stage: Stage) -> None:
    first, second, started = stage.play(f"""
        mount -t tmpfs none /run
        mount --bind /dev/null /proc/sys/kernel/random/boot_id
        meet /mnt/base
        meet /mnt/base
        boot=$(ls -l /run/benchrack-$uid.boot) && boot=${{boot##* }}
        echo : | call /mnt/base start {RUN} $boot 1 9 0 2
    """)
    assert first.boot == second.boot == started.boot
    assert len(first.boot) == 16
    assert started.status == "done"


def test_file_system_without_links_is_as_exclusive(stage: Stage) -> None:
    _, started, busy, purged = stage.play(f"""
        mkdir /mnt/commands && printf '#!/bin/sh\\nexit 1\\n' >/mnt/commands/ln
        chmod 755 /mnt/commands/ln && PATH=/mnt/commands:$PATH
        meet /mnt/base
        echo : | call /mnt/base start {RUN} $boot 1 9 0 2
        echo : | call /mnt/base start {"b" * 32} 1 2 $boot 1 9 0 2
        call /mnt/base purge {RUN}
    """)
    assert started.status == "done"
    assert (busy.status, busy.owner) == ("busy", started.owner)
    assert purged.status == "purged"
