"""Write requirements.lock: the exact versions, from what is installed in this environment."""

import re
import sys
from importlib.metadata import distribution

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from attn_edu.cli.environment import LOCK, installed, requirements

HEADER = """\
# The exact versions that `make`, CI and Binder install. Made by `python -m attn_edu lock` from an
# environment that has what pyproject.toml asks for; change the ranges there, not the lines here.
"""


# What the build of torch for graphics cards asks for; the course runs on the processor.
FOR_GRAPHICS_CARDS = re.compile(r"(nvidia|cuda)-|triton$")


def closure(lines: list[str]) -> dict[str, str]:
    """Name -> installed version, for the given requirements and all that they need here,
    whichever build of torch that is.

    Raises:
        SystemExit: if one of them is not installed.
    """
    pins: dict[str, str] = {}
    seen: set[tuple[str, str]] = set()
    queue = [(Requirement(line), "") for line in lines]
    while queue:
        requirement, extra = queue.pop()
        if requirement.marker and not requirement.marker.evaluate({"extra": extra}):
            continue
        name = canonicalize_name(requirement.name)
        if FOR_GRAPHICS_CARDS.match(name):
            continue
        if installed(name) is None:
            raise SystemExit(f"{name} is not installed: pip install '{requirement}', then again")
        pins[name] = installed(name)
        for wanted in ["", *requirement.extras]:
            if (name, wanted) not in seen:
                seen.add((name, wanted))
                needs = distribution(name).requires or []
                queue += [(Requirement(need), wanted) for need in needs]
    return pins


def main(arguments: list[str]) -> int:
    if arguments:
        print(f"lock takes no arguments, got {' '.join(arguments)}", file=sys.stderr)
        return 2
    pins = closure(requirements())
    lines = [f"{name}=={pin}" for name, pin in sorted(pins.items())]
    LOCK.write_text(HEADER + "\n".join(lines) + "\n", "utf-8")
    print(f"{LOCK.name}: {len(lines)} packages")
    return 0
