"""nbgrader's own functions, for one course folder.

Needs nbgrader on the path (`attn_edu.assign.tools.activate`).
"""

import logging
import warnings
from pathlib import Path

from traitlets.config.loader import PyFileConfigLoader

CONFIG = "nbgrader_config.py"
NOT_RUN = "NotRun"  # the name of the error in cells after the one at which Python ended


def api(folder: Path):
    """The ``NbGraderAPI`` of a folder, set up by its nbgrader_config.py."""
    import nbgrader.api
    from nbgrader.apps import NbGraderAPI
    from nbgrader.coursedir import CourseDirectory
    from sqlalchemy.exc import SAWarning

    nbgrader.api.get_alembic_version = _newest_revision
    warnings.simplefilter("ignore", SAWarning)  # about the order of nbgrader's own objects
    logging.getLogger("traitlets").setLevel(logging.CRITICAL)  # each call returns its own log
    config = PyFileConfigLoader(CONFIG, path=str(folder)).load_config()
    config.CourseDirectory.root = str(folder.resolve())
    return NbGraderAPI(CourseDirectory(config=config), config=config)


def _newest_revision() -> str:
    """Of the gradebook's tables. nbgrader asks a command for it, which need not be on the path."""
    from alembic.script import ScriptDirectory
    from nbgrader.dbutil import ALEMBIC_DIR

    return ScriptDirectory(ALEMBIC_DIR).get_current_head()
