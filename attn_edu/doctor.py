"""Does the course run here? Each question with what was found and, if it fails, what to do."""

import os
import platform
import sys
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, requires, version

from packaging.requirements import Requirement

GIB = 2**30


@dataclass(frozen=True)
class Finding:
    """One question, its answer on this machine, and what to do where the answer is no."""

    question: str
    found: str
    ok: bool
    remedy: str = ""

    def __str__(self) -> str:
        line = f"{'OK  ' if self.ok else 'FAIL'}  {self.question}: {self.found}"
        return line if self.ok else f"{line}\n      What to do: {self.remedy}"


def checkup() -> list[Finding]:
    """All findings on this machine, in the order in which a problem should be solved."""
    return [python(), *packages(), memory(), sentences(), attention()]


def report(findings: list[Finding]) -> str:
    """The findings as text, one a line, with a last line that sums up."""
    failed = sum(not finding.ok for finding in findings)
    end = f"{failed} to mend, the first one first." if failed else "Everything is in place."
    return "\n".join([*map(str, findings), end])


def python(found: tuple = sys.version_info) -> Finding:
    ok = tuple(found[:2]) >= (3, 11)
    remedy = "install Python 3.11 or newer, then run `make lab` in the course's folder"
    return Finding("Python 3.11 or newer", ".".join(map(str, found[:3])), ok, remedy)


def packages() -> list[Finding]:
    """One finding for each package that attn_edu needs: is it there, in the accepted range?"""
    try:
        lines = requires("attn-edu") or []
    except PackageNotFoundError:
        remedy = "in the course's folder: pip install -e ."
        return [Finding("the course's package", "not installed", False, remedy)]
    needed = [Requirement(line) for line in lines]
    return [package(r) for r in needed if not r.marker or r.marker.evaluate({"extra": ""})]


def package(requirement: Requirement) -> Finding:
    try:
        found = version(requirement.name)
    except PackageNotFoundError:
        found = "not installed"
    ok = found != "not installed" and requirement.specifier.contains(found, prereleases=True)
    accepted = ", ".join(sorted(str(s) for s in requirement.specifier)) or "any version"
    remedy = f"pip install '{requirement}', then restart the kernel"
    return Finding(f"{requirement.name} ({accepted})", found, ok, remedy)


def memory(limit: float = 2 * GIB) -> Finding:
    question = "at least 2 GiB of memory"
    try:
        size = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return Finding(question, f"{platform.system()} does not tell", True)
    remedy = "close other notebooks (menu Kernel, Shut Down All Kernels), or use a larger machine"
    return Finding(question, f"{size / GIB:.1f} GiB", size >= limit, remedy)


def sentences() -> Finding:
    from attn_edu.datasets import sentence, sentence_names

    try:
        found = f"{len([sentence(name) for name in sentence_names()])} sentences"
    except (OSError, ValueError) as error:
        return Finding("the data", type(error).__name__, False, str(error))
    return Finding("the data", found, True)


def attention() -> Finding:
    """Our attention against PyTorch's, on random numbers; with a mask and without."""
    import torch
    from torch.nn.functional import scaled_dot_product_attention as theirs

    from attn_edu.attention import causal_mask, scaled_dot_product_attention

    generator = torch.Generator().manual_seed(0)
    query, key, value = torch.randn(3, 2, 5, 7, 4, generator=generator).unbind()
    worst = max(
        (scaled_dot_product_attention(query, key, value, mask=mask)
         - theirs(query, key, value, attn_mask=mask)).abs().max().item()
        for mask in (None, causal_mask(7))
    )  # fmt: skip
    remedy = "restart the kernel and run again; if it stays, reinstall torch"
    return Finding("attention as PyTorch computes it", f"off by {worst:.0e}", worst < 1e-5, remedy)
