"""Parsers of tool output: one file per tool, pure and versioned."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from types import MappingProxyType

from orchestrator.contract import errors
from orchestrator.parsers import (
    df_k,
    epoch_offset,
    iperf2_csv,
    iperf2_text,
    iperf3_json,
    iperf3_text,
    kernel_log,
    line_count,
    loadavg,
    meminfo,
    proc_stat,
    rackprobe,
    regex,
)
from orchestrator.parsers.base import Parser

_ALL = (
    df_k.PARSER,
    epoch_offset.PARSER,
    iperf2_csv.PARSER,
    iperf2_text.PARSER,
    iperf3_json.PARSER,
    iperf3_text.PARSER,
    kernel_log.PARSER,
    line_count.PARSER,
    loadavg.PARSER,
    meminfo.PARSER,
    proc_stat.PARSER,
    regex.PARSER,
    *rackprobe.PARSERS,
)

#: ``name@version`` -> parser
REGISTRY: Mapping[str, Parser] = MappingProxyType({parser.ident: parser for parser in _ALL})


def find(ident: str) -> Parser:
    """The parser of that name and version.

    Raises: UnknownName, with the nearest known name.
    """
    try:
        return REGISTRY[ident]
    except KeyError:
        near = difflib.get_close_matches(ident, REGISTRY, n=1, cutoff=0.5)
        hint = f"did you mean {near[0]}?" if near else f"known are: {' '.join(sorted(REGISTRY))}"
        raise errors.UnknownName(f"no parser {ident!r}; {hint}") from None
