"""The course as it is in its files, in a Python that may have changed it."""

from pathlib import Path

import attn_edu

ROOT = str(Path(attn_edu.__file__).parents[1])
_CODE = f"""
import sys
for name in [*sys.modules]:
    if name.partition(".")[0] == "attn_edu":
        del sys.modules[name]
sys.path.insert(0, {ROOT!r})
import attn_edu.exercises.grading
sys.path.remove({ROOT!r})
"""
# For the top of a graded cell; it leaves no name behind.
LINE = f"exec({_CODE!r}, {{}})\n"
