"""What an operator says of a host, and when two hosts are one machine."""

from __future__ import annotations

import pytest

from orchestrator import inventory
from orchestrator.contract import errors
from orchestrator.inventory import HostSpec, MachineMarks

SPEC = {"name": "elan1", "address": "192.0.2.7", "user": "bench", "key": "elan1"}


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("name", "-x"),
        ("name", "Elan"),
        ("name", ""),
        ("address", "-oProxyCommand=x"),
        ("address", "a b"),
        ("user", "-l"),
        ("user", "a b"),
        ("port", 0),
        ("port", 65536),
        ("base", "relative"),
        ("base", "/a/../b"),
        ("base", "/a b"),
        ("tags", ("a b",)),
    ],
)
def test_check_unusable_field_is_refused_by_name(field: str, value: object) -> None:
    with pytest.raises(errors.InventoryError, match="tag" if field == "tags" else field):
        inventory.check(HostSpec(**{**SPEC, field: value}))  # type: ignore[arg-type]


@pytest.mark.parametrize("address", ["192.0.2.7", "2001:db8::1", "elan1.lab.example"])
def test_check_usual_addresses_are_taken(address: str) -> None:
    inventory.check(HostSpec(**{**SPEC, "address": address}))  # type: ignore[arg-type]


def test_unknown_name_names_the_nearest() -> None:
    error = inventory.unknown("host", "ealn1", ["elan1", "homer"])
    assert error.message == "unknown host 'ealn1'; did you mean 'elan1'?"


def test_unknown_name_without_a_near_one_lists_what_there_is() -> None:
    assert inventory.unknown("host", "zzz", ["elan1"]).message.endswith("known are: elan1")


def marks(**changes: object) -> MachineMarks:
    values: dict[str, object] = {
        "machine_id": None,
        "instance": "i" * 32,
        "boot": "unknown",
        "host_keys": ("a",),
    }
    return MachineMarks(**(values | changes))  # type: ignore[arg-type]


OTHER = {"instance": "j" * 32, "host_keys": ("b",)}


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ({}, OTHER, False),
        ({"machine_id": "m"}, {**OTHER, "machine_id": "m"}, True),
        ({"machine_id": "m"}, {**OTHER, "machine_id": "n"}, False),
        ({}, {**OTHER, "instance": "i" * 32}, True),
        ({"boot": "x"}, {**OTHER, "boot": "x"}, True),
        ({"boot": "unknown"}, {**OTHER, "boot": "unknown"}, False),
        ({}, {**OTHER, "host_keys": ("b", "a")}, True),
    ],
)
def test_same_machine_by_any_mark(
    one: dict[str, object], other: dict[str, object], same: bool
) -> None:
    assert inventory.same_machine(marks(**one), marks(**other)) is same
    assert inventory.same_machine(marks(**other), marks(**one)) is same
