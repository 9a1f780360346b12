"""Build the site: static pages in `site/` that work from disk, without a kernel or a network.

Sphinx and what it needs live in an environment of their own inside `.venv`, installed once.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

from attn_edu.cli.environment import ROOT, one_at_a_time

TOOLS = Path(sys.prefix) / "site-tools"
PYTHON = TOOLS / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
SITE = ROOT / "site"
PINS = ["sphinx==9.0.4", "myst-nb==1.4.0", "furo==2025.12.19", "latex2mathml==3.81.1"]


class SiteError(RuntimeError):
    """The site cannot be built; the message says why."""


def ensure() -> Path:
    """The Python that has Sphinx; made where it is missing or of other versions.

    Raises:
        SiteError: pip could not install it.
    """
    if _is_whole():
        return PYTHON
    with one_at_a_time(TOOLS.with_suffix(".lock")):
        if not _is_whole():
            _install()
    return PYTHON


def _is_whole() -> bool:
    stamp = TOOLS / "pins"
    return stamp.is_file() and stamp.read_text("utf-8").split() == PINS


def _install() -> None:
    print("Installing Sphinx (once, 250 MB) ...", flush=True)
    venv.create(TOOLS, clear=True, with_pip=True)
    pip = [PYTHON, "-m", "pip", "install", "--quiet", "--no-input", "--disable-pip-version-check"]
    if subprocess.call([*pip, *PINS]):
        raise SiteError("Sphinx could not be installed; see pip's message above.")
    (TOOLS / "pins").write_text("\n".join(PINS), "utf-8")


def build(out: Path) -> None:
    """Write the pages into `out`, which is emptied first if it holds an earlier site.

    Raises:
        SiteError: `out` holds something else, or Sphinx found a fault.
    """
    from attn_edu.site import write_sources

    if out.exists() and any(out.iterdir()) and not (out / ".buildinfo").is_file():
        raise SiteError(f"{out} holds something else than a site; name an empty folder.")
    python = ensure()
    with tempfile.TemporaryDirectory() as folder:
        sources = Path(folder) / "source"
        write_sources(sources)
        command = [python, "-m", "sphinx", "-q", "-W", "--keep-going", "-b", "html"]
        pages = Path(folder) / "html"
        if subprocess.call([*command, "-d", f"{folder}/cache", sources, pages]):
            raise SiteError("Sphinx found faults; see above.")
        shutil.rmtree(pages / "_sources", ignore_errors=True)
        shutil.rmtree(out, ignore_errors=True)
        shutil.copytree(pages, out)


def main(arguments: list[str]) -> int:
    out = Path(arguments[0]) if arguments else SITE
    try:
        build(out)
    except SiteError as error:
        print(error, file=sys.stderr)
        return 1
    print(f"The site is in {out}: open {out / 'index.html'}")
    return 0
