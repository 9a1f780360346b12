"""The commands behind ``python3 -m attn_edu``: one module each, loaded when it is asked for.

`environment` uses the standard library alone; the others may use all that it installs.
"""

import importlib
import os
import subprocess
import sys

COMMANDS = {
    "lab": "attn_edu.cli.lab",
    "test": "attn_edu.cli.checks",
    "notebooks": "attn_edu.cli.notebooks",
    "assign": "attn_edu.cli.assign",
    "grade": "attn_edu.cli.grade",
    "bench": "attn_edu.cli.bench",
    "lock": "attn_edu.cli.lock",
    "site": "attn_edu.cli.site",
    "colab-check": "attn_edu.cli.colab",
}
PRETRAINED = "--pretrained"


def run(command: str, arguments: list[str]) -> int:
    """Run one command in the course's environment, which is made first where it is missing.

    With ``--pretrained`` among the arguments, the packages with weights are installed as well.
    """
    from attn_edu.cli import environment, pretrained

    if command not in COMMANDS:
        print(f"no command {command!r}; there are: {', '.join(COMMANDS)}", file=sys.stderr)
        return 2
    try:
        # only the tests need their own packages: an environment for reading may be without them
        extras = environment.EXTRAS if command == "test" else ("course",)
        python = environment.ensure(extras)
    except environment.SetupError as error:
        print(error, file=sys.stderr)
        return 1
    os.environ.update(environment.variables())
    if not environment.is_this(python):
        call = [str(python), "-m", "attn_edu", command, *arguments]
        if os.name == "posix":
            os.execv(call[0], call)
        return subprocess.call(call)
    if PRETRAINED in arguments:
        arguments = [word for word in arguments if word != PRETRAINED]
        pretrained.ensure()
    return importlib.import_module(COMMANDS[command]).main(arguments) or 0
