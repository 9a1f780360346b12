"""Where the course is published, and the links that are made from that address."""

import re
from dataclasses import dataclass
from urllib.parse import quote

GITHUB = "https://github.com/"
BEGIN = "<!-- badges: made from course.toml by `make notebooks` -->"
END = "<!-- /badges -->"


@dataclass(frozen=True)
class Repository:
    """A repository on GitHub.

    Args:
        repository: its address, "https://github.com/OWNER/NAME".
        branch: the branch that readers get.

    Raises:
        ValueError: for an address of another form, or a branch that is none.
    """

    repository: str
    branch: str

    def __post_init__(self):
        if not re.fullmatch(rf"{GITHUB}[\w.-]+/[\w.-]*[\w-]", self.repository):
            raise ValueError(f"repository must be {GITHUB}OWNER/NAME, got {self.repository!r}")
        if not re.fullmatch(r"[\w-][\w./-]*", self.branch):
            raise ValueError(f"branch must be the name of a branch, got {self.branch!r}")

    @property
    def owner_and_name(self) -> str:
        """ "OWNER/NAME"."""
        return self.repository.removeprefix(GITHUB)

    @property
    def archive(self) -> str:
        """A zip of everything, which pip installs too."""
        return f"{self.repository}/archive/refs/heads/{self.branch}.zip"

    def binder(self, file: str) -> str:
        """Opens a file of the repository in JupyterLab on Binder."""
        branch = quote(self.branch, "")  # Binder's address has its own use for a slash
        start = f"https://mybinder.org/v2/gh/{self.owner_and_name}/{branch}"
        return f"{start}?labpath={quote(file, '')}"

    def colab(self, file: str) -> str:
        """Opens a notebook of the repository in Colab."""
        start = "https://colab.research.google.com/github"
        return f"{start}/{self.owner_and_name}/blob/{self.branch}/{quote(file)}"

    def links(self, file: str, words: tuple[str, str] = ("Binder", "Colab")) -> str:
        """Both links as Markdown text, not pictures: a saved page loads nothing."""
        return f"[{words[0]}]({self.binder(file)}) · [{words[1]}]({self.colab(file)})"

    def badges(self, file: str) -> str:
        """Both links as the pictures that people know, for a page that is read on GitHub."""
        return "\n".join([
            "[![Open the course in Binder](https://mybinder.org/badge_logo.svg)]"
            f"({self.binder(file)})",
            "[![Open the course in Colab](https://colab.research.google.com/assets/colab-badge.svg)]"
            f"({self.colab(file)})",
        ])  # fmt: skip

    def with_badges(self, text: str, file: str) -> str:
        """`text` with fresh badges between its markers, if it has any."""
        fresh = f"{BEGIN}\n{self.badges(file)}\n{END}"
        return re.sub(f"{BEGIN}.*?{END}", lambda _: fresh, text, flags=re.DOTALL)
