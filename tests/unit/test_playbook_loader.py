"""What a playbook file may not be: each refusal with its place and the mend."""

from __future__ import annotations

from pathlib import Path

import pytest

from orchestrator.contract import errors
from orchestrator.playbook import loader, source

EXAMPLES = sorted((Path(__file__).parent.parent / "data" / "playbooks").glob("*.yaml"))
PLAYBOOK = """\
playbook: 1
name: tiny
title: Tiny
params:
  samples: {type: int, default: 10, min: 1, max: 100}
metrics:
  - name: latency
    unit: us
    better: lower
    primary: true
    from: {step: run.probe, parser: rackprobe_latency@1, field: avg}
stages:
  run:
    steps:
      - {id: probe, run: [probe, "{samples}"]}
"""


def refusal(text: str | bytes) -> str:
    data = text if isinstance(text, bytes) else text.encode()
    with pytest.raises(errors.PlaybookError) as caught:
        loader.load(data, name="p.yaml")
    return caught.value.message


def changed(old: str, new: str) -> str:
    assert PLAYBOOK.count(old) == 1
    return PLAYBOOK.replace(old, new)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_load_example_gives_its_name(path: Path) -> None:
    assert loader.load(path.read_bytes(), name=path.name).name == path.stem


def test_load_with_byte_order_mark_is_accepted() -> None:
    assert loader.load(b"\xef\xbb\xbf" + PLAYBOOK.encode(), name="p").name == "tiny"


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "p.yaml:1:1: the file is empty"),
        (b"a: \xff", "p.yaml:1:4: this byte is not UTF-8; save the file as UTF-8"),
        (b"a: 1\nb: \x07", "p.yaml:2:4: this character is not allowed in YAML"),
        (b"a: &x 1", "p.yaml:1:4: anchor &x: write the value out"),
        (b"a: *x", "p.yaml:1:4: alias *x: write the value out"),
        (b"a: !!int 1", "p.yaml:1:4: tag tag:yaml.org,2002:int: fields decide types; remove it"),
        (b"a: {<<: {b: 1}}", "p.yaml:1:5: merge key <<: write the fields out"),
        (b"a: 1\nb: 2\na: 3", "p.yaml:3:1: the key 'a' is given twice"),
        (b"? [a]\n: 1", "p.yaml:1:3: a key is a plain word, not a list or a mapping"),
        (b"a b: 1", "p.yaml:1:1: the key 'a b' is no plain word; quote a text with , or :"),
        (b"a: 1\n---\nb: 2", "p.yaml:2:1: a second document begins; a file holds one playbook"),
        (b"%YAML 1.1\n---\na: 1", "p.yaml:1:1: YAML directives are not used; remove this line"),
        (b"a:\n\tb: 1", "p.yaml:2:1: a tab indents this line; indent with spaces"),
        (b"a:\n  \tb: 1", "p.yaml:2:3: a tab stands where YAML wants spaces; indent with spaces"),
        (b"a: [1", "p.yaml:1:6: this is not YAML: expected ',' or ']', but got '<stream end>'"),
        (b"a: " + b"x" * source.MAX_BYTES, "p.yaml:1:1: the file is over 256 KiB"),
        (b"[" * 25, "p.yaml:1:25: lists and mappings nest over 24 deep"),
        (b"[" + b"1," * 20_001 + b"]", "p.yaml:1:40000: the file holds over 20000 values"),
    ],
)
def test_read_of_what_is_no_playbook_file_is_refused_with_place(data: bytes, message: str) -> None:
    assert refusal(data) == message


@pytest.mark.parametrize(
    ("old", "new", "token", "sentence"),
    [
        ("title: Tiny", "titel: Tiny", "titel", "unknown key 'titel'; did you mean 'title'?"),
        ("playbook: 1", "playbook: 2", "2", "'2' is not one of: '1'"),
        ("name: tiny", "name: [tiny]", "[tiny", "here stands one value, not a list or a mapping"),
        ("default: 10,", "default: 010,", "010", "'010' is not a whole number; write plain"),
        ("default: 10,", "default: 0,", "0, m", "the default is 0; it must be from 1 to 100"),
        ("min: 1,", "min: 1.5,", "1.5", "'1.5' is not a whole number; write plain decimal"),
        ("max: 100", "max: 0", "0}", "max 0 is below min 1"),
        ("type: int", "type: itn", "itn", "'itn' is not one of: 'int', 'number'"),
        ("  samples: {", "  run: {", "{type", "{run} is built in; name the parameter otherwise"),
        ("unit: us", "unit: usec", "usec", "unknown unit 'usec'; did you mean 'us'?"),
        ("better: lower", "better: low", "low", "'low' is not one of: 'lower', 'higher' or"),
        ("primary: true", "primary: yes", "yes", "'yes' is neither true nor false"),
        ("primary: true", "valid: [0, 1]", "- name", "exactly one metric is primary: true; here"),
        ("step: run.probe", "step: run.prob", "run.prob", "no step is 'run.prob'; did you mean"),
        ("step: run.probe", "monitor: stat", "stat,", "no monitor is named 'stat'; none is known"),
        ("rackprobe_latency@1", "rackprobe", "rackprobe", "'rackprobe' is not a parser and its"),
        ("{samples}", "{sample}", '"{sample}', "no parameter {sample}; did you mean 'samples'?"),
        ("run: [p", "timeout: 5, run: [p", "5, run", "'5' is not a duration; write a number with"),
        ("run: [p", "void_exit: [0], run: [p", "[0]", "0 is in ok_exit as well"),
        ("run: [p", "ok_exit: [256], run: [p", "256", "an exit status is from 0 to 255"),
        ("run: [p", "save: [../x], run: [p", "../x", "'../x' is not a plain file name"),
        ("run: [p", "max_output: 1MB, run: [p", "1MB", "MB in '1MB' is ambiguous; write 1MiB"),
        ("run: [p", "background: true, run: [p", "steps", "the run stage has no step that"),
        (
            "    steps",
            "    retries: 1\n    steps",
            "1\n    st",
            "only check and prepare are",
        ),
        ("    steps", "    takes: [x]\n    steps", "x]", "'x' is neither a duration nor a"),
        ('run: [probe, "', 'script: "', '"{sam', "{samples} is not replaced in a script; write"),
    ],
)
def test_load_of_a_wrong_field_is_refused_with_place(
    old: str, new: str, token: str, sentence: str
) -> None:
    text = changed(old, new).replace('script: "{samples}"]', 'script: "{samples} ${samples}"')
    before = text[: text.rindex(token)]
    place = f"p.yaml:{before.count(chr(10)) + 1}:{len(before) - before.rfind(chr(10))}"
    assert refusal(text).startswith(f"{place}: {sentence}")


def test_load_with_several_faults_names_each_on_a_line() -> None:
    text = changed("unit: us", "unit: usec").replace("better: lower", "better: up")
    assert [line.partition(": ")[0] for line in refusal(text).splitlines()] == [
        "p.yaml:8:11",
        "p.yaml:9:13",
    ]


def test_load_with_an_excluded_value_that_is_not_on_its_axis_is_refused() -> None:
    text = PLAYBOOK + "matrix: {samples: [1, 2]}\nexclude:\n  - {samples: 3}\n"
    assert refusal(text) == "p.yaml:18:15: '3' is not on the axis samples; known are: 1 2"


def test_load_keeps_words_as_they_are_written() -> None:
    text = changed('"{samples}"', "0x1, 6.10, no, 22:22, 1_000")
    (step,) = loader.load(text.encode(), name="p").stages.run.steps
    assert step.run == ("probe", "0x1", "6.10", "no", "22:22", "1_000")


def test_load_folder_with_one_name_twice_names_both_files() -> None:
    with pytest.raises(errors.PlaybookError) as caught:
        loader.load_folder({"b.yaml": PLAYBOOK.encode(), "a.yaml": PLAYBOOK.encode()})
    assert caught.value.message == ("b.yaml:2:7: a.yaml is also named 'tiny'; rename one of them")
