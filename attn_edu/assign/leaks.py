"""Nothing that a student gets holds an answer, a hidden test, or the numbers of its inputs.

Everything is searched: source, outputs, metadata and attachments of a notebook, every member of a
zip. Texts are compared without what does not matter in code (comments, white space, continued
lines), and also unpacked: from HTML, from JSON inside a string, from base64.
"""

import base64
import binascii
import functools
import html
import io
import json
import re
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path

from attn_edu.exercises.catalogue import exercises
from attn_edu.exercises.definition import Exercise

_DEEPEST = 6  # packings inside each other
_SHORTEST = 12  # characters of a line that can be told from anything else
_BASE64 = re.compile(r"[A-Za-z0-9+/_-]{16,}={0,2}")
_BASE64_LINES = re.compile(r"^(?:[A-Za-z0-9+/_-]+\s*\n)+[A-Za-z0-9+/_-]+={0,2}", re.MULTILINE)
_MARKS = ("BEGIN SOLUTION", "END SOLUTION", "BEGIN HIDDEN TESTS", "END HIDDEN TESTS")


class LeakError(RuntimeError):
    """Something that a student would get holds what it must not; the message says where."""


def check_handout(paths: Iterable[Path], draws: Iterable[int]) -> None:
    """Search files that students get: notebooks, zips, texts.

    Raises:
        LeakError: naming each place.
    """
    found = [leak for path in paths for leak in leaks(path.read_bytes(), path.name, draws)]
    if found:
        raise LeakError("\n".join(["A student's copy holds what it must not:", *found]))


def leaks(content: bytes, name: str, draws: Iterable[int] = ()) -> list[str]:
    """What a file holds that a student must not see, one line a find: the place, and what.

    Args:
        content: a notebook, a zip, or any text.
        name: what the place is called in the lines.
        draws: numbers of the random inputs that points are given on.
    """
    numbers = [re.compile(rf"(?<![\w.]){draw}(?![\w.])") for draw in draws]
    found = []
    for place, text in _texts(content, name):
        for reading in set(_readings(text)):
            found += [f"{place}: {what}" for what in _in(reading, numbers)]
    return list(dict.fromkeys(found))


def _in(text: str, numbers: list[re.Pattern]) -> Iterator[str]:
    """What a text holds, in words."""
    code = bare(text) + "\n" + _without_space(text)  # a comment may hold an answer too
    for exercise_id, lines in _lines().items():
        if any(line in code for line in lines):
            yield f"a line of the answer to {exercise_id}"
    if any(mark in text for mark in _MARKS):
        yield "a mark of the instructor's copy"
    if any(number.search(text) for number in numbers):
        yield "the number of a graded draw"


@functools.cache
def _lines() -> dict[str, list[str]]:
    """The distinctive lines of each exercise."""
    return {one.id: distinctive(one) for one in exercises()}


@functools.cache
def _given() -> str:
    """What students are told anyway."""
    return "\n".join(bare(one.starter + one.statement) for one in exercises())


def distinctive(one: Exercise) -> list[str]:
    """The lines of a reference, as `bare` text, that nobody writes without knowing the answer."""
    lines = (bare(line) for line in one.source.splitlines())
    return [line for line in lines if len(line) >= _SHORTEST and line not in _given()]


def bare(code: str) -> str:
    """Code without comments, white space and continued lines, with one kind of quotes."""
    return _without_space(re.sub(r"#[^\n]*", "", code))


def _without_space(code: str) -> str:
    return re.sub(r"[\s\\]+", "", code).replace("'", '"')


def _texts(content: bytes, name: str) -> Iterator[tuple[str, str]]:
    """Every text in a file, with the place where it stands."""
    if content.startswith(b"PK") and zipfile.is_zipfile(io.BytesIO(content)):
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            for member in archive.infolist():
                yield from _texts(archive.read(member), f"{name}, {member.filename}")
            yield f"{name}, its comment", archive.comment.decode(errors="replace")
        return
    text = content.decode("utf-8", errors="replace")
    try:
        notebook = json.loads(text)
    except ValueError:
        yield name, text
    else:
        yield from _strings(notebook, name)


def _strings(value: object, place: str) -> Iterator[tuple[str, str]]:
    """Every string in a JSON value; a list of strings is the lines of one text."""
    if isinstance(value, str):
        yield place, value
    elif isinstance(value, list):
        if value and all(isinstance(one, str) for one in value):
            yield place, "".join(value)
            yield place, "\n".join(value)
        else:
            for number, one in enumerate(value):
                yield from _strings(one, f"{place}, {number}")
    elif isinstance(value, dict):
        for key, one in value.items():
            yield place, key
            yield from _strings(one, f"{place}, {key}")
    elif value is not None:
        yield place, str(value)


def _readings(text: str, deep: int = 0) -> Iterator[str]:
    """A text as it is and unpacked: from HTML, from JSON or another escaped text, from base64."""
    yield text
    if deep == _DEEPEST:
        return
    unpacked = {html.unescape(re.sub(r"<[^<>]*>", "", text)), _unescaped(text)}
    packed = [*_BASE64.findall(text), *_BASE64_LINES.findall(text)]
    unpacked |= {plain for one in packed if (plain := _from_base64("".join(one.split())))}
    for one in unpacked - {text, ""}:
        yield from _readings(one, deep + 1)


def _unescaped(text: str) -> str:
    r"""``\n``, ``\"`` and ``\u221a`` as the characters that they stand for."""

    def character(match: re.Match) -> str:
        try:
            return json.loads(f'"{match.group()}"')
        except ValueError:
            return match.group()

    return re.sub(r'\\(?:u[0-9a-fA-F]{4}|[nrt"\\/])', character, text)


def _from_base64(packed: str) -> str | None:
    """The text, or `None` where it is none: most long words are not base64."""
    body = packed.rstrip("=").replace("-", "+").replace("_", "/")
    try:
        return base64.b64decode(body + "=" * (-len(body) % 4)).decode("utf-8")
    except (binascii.Error, UnicodeDecodeError):
        return None
