"""Options of a request: the signatures and the help say what the declarations say."""

from __future__ import annotations

import inspect
import os
import re
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

import goodqueue as gq
from goodqueue import _goodqueue

# The type of an argument, by the form of its value on the command line.
TYPES = {
    "FILE": "str | os.PathLike[str]",
    "KEY=VALUE": "Mapping[str, Any]",
    "N": "int",
    "RATE": "RateLike",
    "TC": "str | Iterable[str]",
    "TIME": "TimeLike",
}
# An argument that takes more than its form.
WIDER = {"qdiscs": "QdiscLike | Iterable[QdiscLike]"}
# Words about the command line, and what they are in Python.
WORDS = {
    "'; repeat for several [": "', or a list [",
    "once for all, or once for each qdiscs": "one for all, or one for each of qdiscs",
    ", or 20s with --live or --both": "",
    "as in `set tcp.ecn=true`; repeat for several": 'as in `{"tcp.ecn": True}`',
}
PACKAGE = Path(__file__).parent.parent / "goodqueue"


def signature(indent: str) -> str:
    begin, end = (f"{indent}# Options of a request: {word}\n" for word in ("begin", "end"))
    arguments = [
        f"{indent}{name}: {WIDER.get(name, TYPES[form])} | None = None,\n" for name, form, _ in _goodqueue.options()
    ]
    return begin + "".join(arguments) + end


def in_words_of_python(meaning: str) -> str:
    for command, python in WORDS.items():
        meaning = meaning.replace(command, python)
    return meaning


def description() -> str:
    text = "    Options of a request:\n\n"
    for name, _, meaning in _goodqueue.options():
        sentence = f"`{name}`: {in_words_of_python(meaning)}."
        text += textwrap.fill(sentence, 110, initial_indent="    * ", subsequent_indent="      ") + "\n"
    return text + '    """\n'


def as_declared(text: str) -> str:
    """Returns the text of a file with its signatures and its help written anew."""
    arguments = re.compile(r"( +)# Options of a request: begin\n.*?# Options of a request: end\n", re.DOTALL)
    text = arguments.sub(lambda found: signature(found[1]), text)
    return re.sub(r'    Options of a request:\n.*?"""\n', lambda _: description(), text, flags=re.DOTALL)


@pytest.mark.parametrize("name", ["_api.py", "_goodqueue.pyi"])
def test_signatures_and_help_are_those_of_the_declarations(name: str) -> None:
    file = PACKAGE / name
    written = file.read_text()
    declared = as_declared(written)
    assert "# Options of a request: end" in written
    if os.environ.get("UPDATE") == "1":
        file.write_text(declared)
    else:
        assert written == declared, f"`UPDATE=1 make python` writes {name} anew"


def test_help_of_compare_has_every_option_with_its_meaning_and_no_words_of_the_command() -> None:
    known = inspect.signature(gq.compare).parameters
    help = inspect.getdoc(gq.compare) or ""
    for name, _, _ in _goodqueue.options():
        assert name in known and f"* `{name}`: " in help
    assert "--" not in help and "repeat" not in help, help


def test_each_word_of_the_command_that_is_replaced_occurs() -> None:
    meanings = " ".join(meaning for _, _, meaning in _goodqueue.options())
    for command in WORDS:
        assert command in meanings, command


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"ratee": "1mbit"}, TypeError, "there is no option `ratee`\n  allowed: qdiscs, "),
        ({"trace_up": 5}, TypeError, "`trace_up` is 5 of type int\n  allowed: a path"),
        ({"qdiscs": "pie", "qdiscs_up": [5]}, TypeError, r"`qdiscs_up` is \[5\] of type list\n  allowed: lines"),
        ({"qdiscs": {"down": "pie", "up": "codel"}, "qdiscs_up": "pie"}, gq.Error, "`qdiscs_up` needs lines of text"),
        ({"qdiscs_up": "pie"}, gq.Error, "`qdiscs_up` needs a discipline for the other direction"),
        ({"set": {5: 1}}, TypeError, "`set` has the key 5, which is no text"),
    ],
)
def test_a_scenario_refuses_options_by_their_name(
    options: dict[str, object], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        gq.Scenario().with_options(**options)  # type: ignore[arg-type]


def test_the_discipline_of_the_other_direction_is_an_argument() -> None:
    results = gq.compare(qdiscs=["pie", "codel"], qdiscs_up="fq_codel", time="100ms")
    assert [run["qdisc"] for run in results.runs] == ["pie / fq_codel", "codel / fq_codel"]


@pytest.mark.parametrize("function", [gq.compare, gq.sweep])
def test_arguments_of_a_run_have_one_form_wherever_they_stand(function: Callable[..., object]) -> None:
    of_run = inspect.signature(gq.run).parameters
    shared = [one for name, one in inspect.signature(function).parameters.items() if name in of_run and name != "scenario"]
    assert [one.name for one in shared] == [name for name in of_run if name in {one.name for one in shared}]
    for one in shared:
        assert one == of_run[one.name], one
    own = {name for name, _, _ in _goodqueue.options()} | {"scenario", "over"}
    assert set(inspect.signature(function).parameters) <= own | set(of_run)
