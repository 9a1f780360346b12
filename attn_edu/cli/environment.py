"""The environment that the course runs in: `.venv` in the clone, made and kept up to date.

Standard library only: this runs before anything is installed. Nothing outside the clone is
touched: kernels, signatures and start-up files of the course live inside the environment.
"""

import contextlib
import hashlib
import os
import re
import subprocess
import sys
import tomllib
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LOCK = ROOT / "requirements.lock"
VENV = ROOT / ".venv"
STAMP = VENV / "attn_edu.stamp"
EXTRAS = ("course", "test")
PYTHON = VENV / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


class SetupError(RuntimeError):
    """The environment could not be made; the message says what to do."""


def is_this(python: Path) -> bool:
    """Whether `python` is the interpreter that is running."""
    # not resolved: the python of a venv is a link to the one that it was made from
    return os.path.abspath(python) == os.path.abspath(sys.executable)  # noqa: PTH100


def fingerprint() -> str:
    """What `.venv` has to be made from; another value than the stamp's means: install again."""
    digest = hashlib.sha256(str(ROOT).encode())
    for path in (LOCK, ROOT / "pyproject.toml", VENV / "pyvenv.cfg"):
        digest.update(path.read_bytes() if path.is_file() else b"-")
    return digest.hexdigest()


def requirements(extras: tuple[str, ...] = EXTRAS) -> list[str]:
    """What pyproject.toml asks for, some extras included."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    optional = (line for extra in extras for line in project["optional-dependencies"][extra])
    return [*project["dependencies"], *optional]


def missing(extras: tuple[str, ...] = EXTRAS) -> list[str]:
    """The packages of `requirements`, and attn-edu itself, that this interpreter has not."""
    names = [re.match(r"[\w.-]+", line).group() for line in requirements(extras)]
    return [name for name in [*names, "attn-edu"] if installed(name) is None]


def not_as_locked() -> list[str]:
    """The lines of requirements.lock that this interpreter has not, or in another version."""
    lines = [line.split("#")[0].strip() for line in LOCK.read_text("utf-8").splitlines()]
    pins = [line.split("==") for line in lines if line]
    return [f"{name}=={pin}" for name, pin in pins if installed(name) != pin]


def installed(name: str) -> str | None:
    """The version of a package without a local part (2.13.0 for 2.13.0+cpu), or None."""
    try:
        return version(name).split("+")[0]
    except PackageNotFoundError:
        return None


def ensure(extras: tuple[str, ...] = EXTRAS) -> Path:
    """The Python to run the course with; makes or repairs `.venv` where that is needed.

    With ATTN_EDU_ENV=current, or inside a virtual or conda environment that already has all
    packages of these extras, it is the running interpreter.

    Raises:
        SetupError: if the environment cannot be made; the message says what to do.
    """
    if not LOCK.is_file():
        raise SetupError("This command works in a clone of the course: no requirements.lock here.")
    if os.environ.get("ATTN_EDU_ENV") == "current":
        return Path(sys.executable)
    if not is_this(PYTHON) and in_an_environment() and not missing(extras):
        return Path(sys.executable)
    if not is_ready():
        with one_at_a_time():
            if not is_ready():
                install()
    return PYTHON


def in_an_environment() -> bool:
    """Whether the running interpreter belongs to a virtual or a conda environment."""
    return sys.prefix != sys.base_prefix or (Path(sys.prefix) / "conda-meta").is_dir()


def is_ready() -> bool:
    """Whether `.venv` is whole and made from the present lock."""
    return PYTHON.is_file() and STAMP.is_file() and STAMP.read_text("utf-8") == fingerprint()


def install() -> None:
    """Make `.venv` if it does not work, bring its packages to the lock, then stamp it."""
    STAMP.unlink(missing_ok=True)
    if not works():
        print(f"Making {VENV.name} with Python {sys.version.split()[0]} ...", flush=True)
        result = call([sys.executable, "-m", "venv", "--clear", VENV], capture_output=True)
        if result.returncode:
            raise SetupError(
                f"Python could not make a virtual environment:\n{result.stdout}{result.stderr}\n"
                "On Debian and Ubuntu this helps: sudo apt install python3-venv"
            )
    pip = [PYTHON, "-m", "pip", "install", "--no-input", "--disable-pip-version-check"]
    check = call([PYTHON, "-m", "attn_edu.cli.environment"], capture_output=True)
    if check.returncode:
        print("Installing the packages of requirements.lock (once, some minutes) ...", flush=True)
        if call([*pip, "-r", LOCK]).returncode:
            raise SetupError(
                "The packages could not be installed: see pip's message above. What was already "
                "downloaded is kept; run the same command again to go on."
            )
    if call([*pip, "--quiet", "--no-deps", "--editable", ROOT]).returncode:
        raise SetupError("The course's own package was not installed: see pip's message above.")
    STAMP.write_text(fingerprint(), "utf-8")


def works() -> bool:
    """Whether `.venv` has a Python that starts and has pip (a half-made one has not)."""
    if not PYTHON.is_file() or not (VENV / "pyvenv.cfg").is_file():
        return False
    try:
        return call([PYTHON, "-c", "import pip"], capture_output=True).returncode == 0
    except OSError:
        return False


def call(command: list, **options) -> subprocess.CompletedProcess:
    """Run a command in the clone, undisturbed by a PYTHONPATH or PYTHONHOME of the user."""
    clean = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "PYTHONHOME")}
    return subprocess.run([str(c) for c in command], cwd=ROOT, env=clean, text=True, **options)


@contextlib.contextmanager
def one_at_a_time(lock: Path = ROOT / ".venv.lock"):
    """Let a second command wait while a first one installs (where the system can lock files)."""
    try:
        import fcntl
    except ImportError:
        yield
        return
    with lock.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def variables() -> dict[str, str]:
    """Environment variables for every command: Jupyter's files stay in the running environment."""
    share = Path(sys.prefix) / "share" / "jupyter"
    if not os.access(sys.prefix, os.W_OK):
        return {}
    # the user's own kernels come after the environment's: `python3` is the course's Python
    return {"JUPYTER_DATA_DIR": str(share), "JUPYTER_PREFER_ENV_PATH": "1"}


def quiet_variables() -> dict[str, str]:
    """Further variables for test, notebooks and bench: the same run gives the same output."""
    return {
        "OMP_NUM_THREADS": "1",
        "MKL_NUM_THREADS": "1",
        "OMP_WAIT_POLICY": "PASSIVE",
        "PYTHONHASHSEED": "0",
        "PYTHONIOENCODING": "utf-8",
        "TQDM_DISABLE": "1",  # progress bars leave junk in saved outputs
        "IPYTHONDIR": str(Path(sys.prefix) / "share" / "ipython"),  # no start-up files of the user
        "JUPYTER_CONFIG_DIR": str(Path(sys.prefix) / "share" / "jupyter" / "config"),
        "PYDEVD_DISABLE_FILE_VALIDATION": "1",
    }


if __name__ == "__main__":
    wrong = not_as_locked()
    print("\n".join(wrong))
    sys.exit(bool(wrong))
