"""nbgrader on demand: two commands at once install it once, and both have it whole."""

import subprocess
import sys

from attn_edu.cli.environment import ROOT

# An installation that takes a while, and that writes down when it began and ended.
SLOW = """
import pathlib, sys, time
from attn_edu.assign import tools
folder, log = pathlib.Path(sys.argv[1], "nbgrader"), pathlib.Path(sys.argv[1], "log")
def install():
    folder.mkdir(exist_ok=True)
    log.open("a").write("begun ")
    time.sleep(2)
    (folder / "whole").touch()
    log.open("a").write("ended ")
tools.FOLDER, tools._install, tools.of_the_environment = folder, install, lambda: False
(place,) = tools.path()
assert (place / "whole").is_file()
"""


def test_a_second_command_waits_until_nbgrader_is_whole(tmp_path):
    command = [sys.executable, "-c", SLOW, str(tmp_path)]
    both = [subprocess.Popen(command, cwd=ROOT) for _ in range(2)]
    assert [one.wait(60) for one in both] == [0, 0]
    assert (tmp_path / "log").read_text() == "begun ended "
