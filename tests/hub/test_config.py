"""What the hub's files say, read without a hub: its settings, its links, and its memory."""

import json
import re
import runpy
import subprocess
from types import SimpleNamespace
from urllib.parse import parse_qs, urlsplit

import jsonschema
import pytest
import yaml

from attn_edu.cli.environment import ROOT, quiet_variables
from attn_edu.course import chapters, repository
from bench import classroom
from bench import hub as measured
from tests.hub import needs

HUB = ROOT / "hub"
STORED = json.loads(measured.STORED.read_text("utf-8"))
VALUES = yaml.safe_load((HUB / "values.yaml").read_text("utf-8"))
README = (HUB / "README.md").read_text("utf-8")
UNIT = 1024**3 / 1e6  # megabytes in JupyterHub's and KubeSpawner's G
ROOT_ONLY = "needs." + "root("
THREADS = {name: quiet_variables()[name] for name in VALUES["singleuser"]["extraEnv"]}


class Config:
    """Takes any setting of any class, as traitlets' own does."""

    def __getattr__(self, name):
        return self.__dict__.setdefault(name, SimpleNamespace())


def load(monkeypatch, tmp_path, **settings):
    """The configuration as JupyterHub would read it, `c` standing for any class."""
    for name, value in {
        "PASSWORD": "long enough",
        "FILES": str(tmp_path / "f"),
        **settings,
    }.items():
        monkeypatch.setenv(f"CLASS_{name}", value)
    c = Config()
    runpy.run_path(str(HUB / "jupyterhub_config.py"), {"get_config": lambda: c})
    return c


def test_the_trial_listens_to_this_machine_only_and_wants_a_password(monkeypatch, tmp_path):
    c = load(monkeypatch, tmp_path, PORT="9000")
    assert urlsplit(c.JupyterHub.bind_url).hostname == "127.0.0.1"
    assert len({9000, 9001, c.JupyterHub.hub_port}) == 3
    assert c.SharedPasswordAuthenticator.user_password == "long enough"
    assert (tmp_path / "f").stat().st_mode & 0o077 == 0
    for short in ("", "1234567"):
        with pytest.raises(SystemExit, match="CLASS_PASSWORD"):
            load(monkeypatch, tmp_path, PASSWORD=short)


def test_a_server_has_one_thread_a_limit_and_an_end(monkeypatch, tmp_path):
    c = load(monkeypatch, tmp_path, IDLE_SECONDS="77")
    assert {**c.Spawner.environment, **THREADS} == c.Spawner.environment
    assert "--MappingKernelManager.cull_idle_timeout=77" in c.Spawner.args
    assert "--KernelManager.transport_encryption=required" in c.Spawner.args
    (culler,) = c.JupyterHub.services
    assert "--timeout=77" in culler["command"]
    (role,) = c.JupyterHub.load_roles
    assert role["services"] == [culler["name"]]
    assert float(c.Spawner.mem_limit[:-1]) == float(VALUES["singleuser"]["memory"]["limit"][:-1])
    assert c.Spawner.mem_limit[-1] == "G"


@pytest.mark.parametrize("where", ["trial", "kubernetes"])
def test_a_student_comes_in_through_a_pull(where, monkeypatch, tmp_path):
    trial = load(monkeypatch, tmp_path, COURSE="https://example.org/a b/c.git").Spawner.default_url
    url = {"trial": trial, "kubernetes": VALUES["singleuser"]["defaultUrl"]}[where]
    assert urlsplit(url).path == "/git-pull"
    query = {name: value for name, (value,) in parse_qs(urlsplit(url).query).items()}
    assert set(query) == {"repo", "branch", "targetpath", "urlpath"}
    assert query["branch"] == repository().branch
    repo, folder = {
        "trial": ("https://example.org/a b/c.git", repository().owner_and_name.split("/")[-1]),
        "kubernetes": ("https://<host/owner/course>", "<course>"),
    }[where]
    assert query["repo"] == repo
    assert query["targetpath"] == folder
    assert query["urlpath"] == f"lab/tree/{folder}/{chapters()[0].address}"


def test_a_server_starts_with_its_limit(tmp_path):
    """start.sh signs, then becomes the server; a process that wants more than MEM_LIMIT fails."""
    python = tmp_path / "python"
    python.write_text('#!/bin/sh\necho "$HOME: $*"\nulimit -d\n')
    python.chmod(0o755)
    env = {"COURSE_PYTHON": str(python), "MEM_LIMIT": str(3 * 1024**3), "HOME": "/home/ann"}
    done = subprocess.run(
        [HUB / "start.sh", "--port=1", "a b"], env=env, capture_output=True, text=True, check=True
    )
    *first, limit, second, again = done.stdout.splitlines()
    assert first[-1] == "trust()"
    assert second == "/home/ann: -m jupyterhub.singleuser --port=1 a b"
    assert limit == again == str(3 * 1024**2)


def test_the_values_have_names_and_types_of_the_chart():
    chart = yaml.safe_load((ROOT / "tests/hub/chart.yaml").read_text("utf-8"))
    jsonschema.validate(VALUES, chart)
    for wrong in ({"hub": {"concurrent_spawn_limit": 1}}, {"singleuser": {"startTimeout": "300"}}):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate({**VALUES, **wrong}, chart)


@pytest.mark.parametrize("promised", ["", "required"])
def test_where_a_hub_is_promised_its_tests_fail_rather_than_skip(promised, monkeypatch):
    monkeypatch.setenv(needs.PROMISED, promised)
    monkeypatch.setattr(classroom, "missing", lambda *_: "a thing")
    with pytest.raises((pytest.fail.Exception, pytest.skip.Exception), match="a thing") as end:
        needs.a_hub()
    assert end.type is (pytest.fail.Exception if promised else pytest.skip.Exception)


def test_ci_installs_once_a_week_what_the_page_says_and_cannot_skip():
    path = ROOT / ".github/workflows/elsewhere.yml"
    job = yaml.safe_load(path.read_text("utf-8"))["jobs"]["class"]
    assert job["env"][needs.PROMISED]
    runs = [step["run"].partition(" #")[0] for step in job["steps"] if "run" in step]
    installs = [run for run in runs if re.match(r"(\.venv/bin/pip|npm) install ", run)]
    assert installs == re.findall(r"`((?:\.venv/bin/pip|npm) install [^`]+)`", README)
    tests = [run for run in runs if " -m pytest " in run]
    assert ["sudo" in run for run in tests] == [False, True]
    assert tests[0].endswith(" -m pytest tests/hub tests/browser/test_hub.py")
    files = (ROOT / "tests/hub").glob("test_*.py")
    as_root = {f"tests/hub/{file.name}" for file in files if ROOT_ONLY in file.read_text("utf-8")}
    assert as_root == set(tests[1].partition(" -m pytest ")[2].split())


def test_the_promised_memory_is_what_the_hungriest_chapter_takes():
    memory = VALUES["singleuser"]["memory"]
    guarantee, limit = (float(memory[name][:-1]) * UNIT for name in ("guarantee", "limit"))
    most = max(measured.of_a_student(STORED, number) for number in STORED["chapters"])
    assert most <= guarantee <= 1.25 * most
    assert limit >= 1.5 * most
    data = max(one["kernel_data"] for one in STORED["chapters"].values())
    assert limit >= 1.5 * data  # what the trial's `ulimit -d` counts


def test_the_measurement_is_of_ten_at_once():
    assert set(STORED["chapters"]) >= {"02", "05", *measured.largest()}
    assert STORED["unit"] == "MB"
    different = STORED["different"]
    assert len(set(different["numbers"])) == 10
    for one in (*STORED["chapters"].values(), different):
        assert one["students"] == 10
        assert 0 < one["kernel_after"] <= one["kernel_peak"] < 1200
        # each shared page once: less than all peaks together
        together = one["students"] * (one["kernel_peak"] + one["server_peak"])
        assert 0.3 * together < one["class_peak_pss"] < together


def test_the_page_shows_the_measurement():
    assert measured.table(STORED) in README, 'stale: make bench ARGS="hub --store" prints it'
    for one in (*STORED["chapters"].values(), STORED["different"]):
        assert f"{one['class_peak_pss'] / 1000:.1f} GB" in README
    assert f"{STORED['server']['rss']} MB" in README


def test_a_table_of_known_sizes():
    one = {"kernel_peak": 300, "server_peak": 200}
    shown = measured.table({"chapters": {"07": one, "08": {**one, "kernel_peak": 1000}}})
    lines = shown.splitlines()
    assert lines[0] == "| students at once | chapter 07 | chapter 08 |"
    assert "| 10 | 5.0 GB | 12.0 GB |" in lines
    assert "| 100 | 50.0 GB | 120.0 GB |" in lines


def test_links_of_the_page_lead_somewhere():
    links = re.findall(r"\]\(([^)\s]+)\)", README)
    assert links
    for link in links:
        if not link.startswith("https://"):
            assert (HUB / link.split("#")[0]).exists(), link
