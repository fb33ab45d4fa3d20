"""The preemption model of captured kernels."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from orchestrator.contract.domain import PreemptModel
from orchestrator.facts import preempt

CASES = json.loads(
    (Path(__file__).parents[1] / "data" / "env_preempt_cases.json").read_text("utf-8")
)["cases"]


def signs(case: dict[str, Any]) -> preempt.Signs:
    """What the kernel of a case shows."""
    config = {}
    for line in case.get("config", []):
        name, _, value = line.partition("=")
        config[name] = value
    return preempt.Signs(
        release=case["uname_r"],
        version=case["uname_v"],
        config=config,
        config_path=case.get("config_path", "/proc/config.gz"),
        debug=case.get("debugfs_preempt", {}).get("text"),
        log=case.get("dmesg", []),
        cmdline=case.get("cmdline", ""),
        vermagic=case.get("vermagic"),
    )


@pytest.mark.parametrize("case", CASES, ids=[case["id"] for case in CASES])
def test_model_of_a_captured_kernel_is_detected(case: dict[str, Any]) -> None:
    found = preempt.detect(signs(case["input"]))
    wanted = {"submodel": None} | case["expect"]
    assert {name: getattr(found, name) for name in wanted} == wanted


def test_realtime_file_alone_means_rt() -> None:
    found = preempt.detect(preempt.Signs(release="4.4.0-rt", version="#1 SMP", realtime=True))
    assert (found.model, found.source) == (PreemptModel.RT, "realtime")


def test_active_word_of_debugfs_outranks_the_command_line() -> None:
    found = preempt.detect(
        preempt.Signs(
            release="6.6.0",
            version="#1 SMP PREEMPT_DYNAMIC",
            debug="none (voluntary) full\n",
            cmdline="preempt=full",
        )
    )
    assert (found.model, found.source) == (PreemptModel.VOLUNTARY, "debugfs")


def test_lazy_before_its_release_is_no_valid_option() -> None:
    found = preempt.detect(
        preempt.Signs(
            release="6.6.0", version="#1 PREEMPT_DYNAMIC", cmdline="preempt=full preempt=lazy"
        )
    )
    assert found.model is PreemptModel.FULL


def test_dynamic_kernel_that_says_nothing_is_unknown() -> None:
    found = preempt.detect(preempt.Signs(release="6.6.0", version="#1 SMP PREEMPT_DYNAMIC"))
    assert (found.model, found.dynamic) == (PreemptModel.UNKNOWN, True)


def test_static_lazy_needs_the_config() -> None:
    version = "#1 SMP PREEMPT Fri Apr 11 09:00:00 UTC 2025"
    bare = preempt.detect(preempt.Signs(release="6.14.2", version=version))
    lazy = preempt.detect(
        preempt.Signs(release="6.14.2", version=version, config={"CONFIG_PREEMPT_LAZY": "y"})
    )
    assert (bare.model, lazy.model) == (PreemptModel.FULL, PreemptModel.LAZY)


@pytest.mark.parametrize("release", ["6.12+", "6.1-rc3", "", "weird", "2.6.1", "10.0.0-1.fc39"])
def test_any_release_is_numbered_without_error(release: str) -> None:
    assert len(preempt.number(release)) == 3
