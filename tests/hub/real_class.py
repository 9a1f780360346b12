"""The settings of a real class: hub/jupyterhub_config.py with a block of hub/README.md in place of
the trial's, as the page asks."""

import re
from pathlib import Path

from attn_edu.cli.environment import ROOT

README = (ROOT / "hub/README.md").read_text("utf-8")
TRIAL = "# ---- TRIAL ONLY"


def block(spawner: str) -> str:
    """The page's Python for this spawner."""
    blocks = re.findall(r"^```python\n(.*?)^```", README, re.MULTILINE | re.DOTALL)
    (found,) = [one for one in blocks if f'spawner_class = "{spawner}"' in one]
    return found


def settings(spawner: str, hub: Path, names: tuple[str, ...]) -> Path:
    """Write them to the `hub` folder of a clone, for a class of these names."""
    trial = (ROOT / "hub/jupyterhub_config.py").read_text("utf-8")
    kept, mark, _ = trial.partition(TRIAL)
    assert mark
    allowed = ", ".join(f'"{name}"' for name in names)
    path = hub / f"{spawner}_config.py"
    path.write_text(kept + block(spawner).replace('"<names>"', allowed), "utf-8")
    return path
