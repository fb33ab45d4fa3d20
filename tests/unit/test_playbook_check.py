"""Metrics against the real parsers, the catalogue, and the schema of the format."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from orchestrator.contract import errors
from orchestrator.parsers import REGISTRY
from orchestrator.playbook import check, loader, model, requirements

ROOT = Path(__file__).parent.parent.parent
CATALOGUE = sorted((ROOT / "playbooks").glob("*.yaml"))
EXAMPLES = ROOT / "tests" / "data" / "playbooks"
TEXT = (ROOT / "playbooks" / "sched-latency-idle.yaml").read_text()


def refusal(old: str, new: str) -> str:
    assert old in TEXT
    playbook = loader.load(TEXT.replace(old, new, 1).encode(), name="p.yaml")
    with pytest.raises(errors.PlaybookError) as caught:
        check.check(playbook, REGISTRY)
    return caught.value.message.partition(": ")[2]


@pytest.mark.parametrize("path", CATALOGUE, ids=lambda path: path.stem)
def test_catalogue_playbook_fits_the_parsers_and_this_version(path: Path) -> None:
    playbook = loader.load(path.read_bytes(), name=path.name)
    check.check(playbook, REGISTRY)
    requirements.refuse_unsupported(playbook)
    assert playbook.name == path.stem


def test_check_of_an_unknown_parser_names_the_nearest() -> None:
    message = refusal("rackprobe_latency@1, field: avg", "rackprobe_latncy@1, field: avg")
    assert message == "no parser 'rackprobe_latncy@1'; did you mean 'rackprobe_latency@1'?"


def test_check_of_an_unknown_field_names_the_nearest() -> None:
    message = refusal("field: p99}", "field: p98}")
    assert message.startswith("rackprobe_latency@1 delivers no 'p98'; did you mean 'p9")


def test_check_of_a_rate_as_a_time_is_refused() -> None:
    message = refusal(
        "unit: us, better: lower, valid: [0, 1000000], primary", "unit: B, better: lower, primary"
    )
    assert message == "avg is a time, but latency.mean has the unit B, a size"


def test_check_of_a_pattern_for_another_parser_than_regex_is_refused() -> None:
    message = refusal("field: avg}", 'field: avg, pattern: "(?P<value>.)"}')
    assert message == "pattern goes with the parser regex, which needs it"


def test_check_of_a_pattern_that_could_take_for_ever_is_refused() -> None:
    message = refusal(
        "parser: rackprobe_latency@1, field: avg}",
        'parser: regex@1, field: value, pattern: "(?P<value>(a+)+)"}',
    )
    assert message == "a pattern may not repeat a group: (...)+ can take for ever"


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("sched-latency-loaded", "this version starts no background loads; remove loads"),
        ("preempt-sweep", "this version starts no background loads; remove loads"),
        ("ctx-switch-pingpong", "this version repeats by count only"),
    ],
)
def test_example_beyond_this_version_is_refused_with_the_mend(name: str, sentence: str) -> None:
    playbook = loader.load((EXAMPLES / f"{name}.yaml").read_bytes(), name=name)
    with pytest.raises(errors.InputError, match=f"{name}: {sentence}"):
        requirements.refuse_unsupported(playbook)


def test_schema_names_each_field_as_a_playbook_writes_it() -> None:
    schema = model.schema()
    assert json.loads(json.dumps(schema)) == schema
    assert {"playbook", "name", "stages", "metrics"} <= set(schema["required"])
    assert "from" in schema["$defs"]["Metric"]["properties"]
    assert schema["additionalProperties"] is False
