"""From a slider's move to new pixels, in a real JupyterLab: our views beside plotly's FigureWidget.

    make bench ARGS="views --moves 40"

Both show the softmax of the same causal scores under a temperature. Ours recomputes all five panels
of AttentionSteps in the page; plotly's asks the kernel, which sends a new heatmap. One move: the
slider's event, until the first frame for which the picture has other pixels than before. The
machine, the browser and the moment are the same for both, and the turns alternate.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
from pathlib import Path

import nbformat

from bench.meter import remember

ROOT = Path(__file__).resolve().parents[1]
SIZES = (32, 128, 512)

OURS = """
import torch
from attn_edu.views import AttentionSteps
torch.manual_seed(0)
view = AttentionSteps(*torch.randn(3, {n}, 32), mask="causal")
view
"""
PLOTLY = """
import ipywidgets, plotly.graph_objects as go, torch
def peer(n):
    torch.manual_seed(0)
    query, key = torch.randn(2, n, 32)
    hidden = torch.ones(n, n).triu(1).bool()
    scores = (query @ key.T / 32 ** 0.5).masked_fill(hidden, -torch.inf)
    figure = go.FigureWidget(go.Heatmap(z=scores.softmax(-1).numpy(), zmin=0, zmax=1))
    slider = ipywidgets.FloatSlider(value=1.0, min=0.1, max=10.0, step=0.1)
    def redraw(change):
        figure.data[0].z = (scores / change["new"]).softmax(-1).numpy()
    slider.observe(redraw, "value")
    return ipywidgets.VBox([slider, figure])
peer({n})
"""
# Every move goes to a value that it did not have; both clocks are the page's own.
MOVE_OURS = """async (cell) => {
    const find = (root, what) => {
        for (const node of root.querySelectorAll('*')) {
            if (node.matches(what)) return node;
            const inside = node.shadowRoot && find(node.shadowRoot, what);
            if (inside) return inside;
        }
    };
    const slider = find(cell, 'input[type=range]');
    const canvas = [...slider.getRootNode().querySelectorAll('canvas')][3];
    const pixels = () => new Uint32Array(canvas.getContext('2d')
        .getImageData(0, 0, canvas.width, canvas.height).data.buffer)
        .reduce((sum, x, at) => (sum * 31 + x + at) | 0, 7);
    const before = pixels(), to = +slider.value < 10 ? +slider.value + 1 : -10;
    await new Promise((done) => setTimeout(done, 60));
    const start = performance.now();
    slider.value = to;
    slider.dispatchEvent(new Event('input', { bubbles: true }));
    await new Promise(requestAnimationFrame);
    const spent = performance.now() - start;
    return pixels() === before ? null : spent;
}"""
MOVE_PLOTLY = """async (cell) => {
    const plot = cell.querySelector('.js-plotly-plot'), handle = cell.querySelector('.noUi-handle');
    const image = () => plot.querySelector('.heatmaplayer image')?.getAttribute('href') ??
        plot.querySelector('.heatmaplayer image')?.getAttribute('xlink:href');
    await new Promise((done) => setTimeout(done, 60));
    const before = image(), start = performance.now();
    const down = { key: 'ArrowRight', keyCode: 39, bubbles: true };
    handle.dispatchEvent(new KeyboardEvent('keydown', down));
    while (image() === before) {
        if (performance.now() - start > 8000) return null;
        await new Promise(requestAnimationFrame);
    }
    return performance.now() - start;
}"""


def write_notebook(path: Path) -> list[tuple[str, int]]:
    """One cell a way and size; returns what each cell holds."""
    cells = [(way, n) for n in SIZES for way in ("ours", "plotly")]
    source = {"ours": OURS, "plotly": PLOTLY}
    code = [nbformat.v4.new_code_cell(source[way].format(n=n).strip()) for way, n in cells]
    notebook = nbformat.v4.new_notebook(cells=code)
    notebook.metadata.kernelspec = {"name": "python3", "display_name": "Python 3 (ipykernel)"}
    nbformat.write(notebook, path)
    return cells


def measure(moves: int) -> dict[tuple[str, int], list[float | None]]:
    """Milliseconds of every move by way and size; None where no new pixels came."""
    sys.path.insert(0, str(ROOT / "tests" / "browser"))
    from lab import Lab

    with tempfile.TemporaryDirectory() as folder:
        cells = write_notebook(Path(folder) / "bench.ipynb")
        with Lab(Path(folder)) as lab:
            page = lab.open("bench.ipynb", size=(1280, 1400))
            lab.run_all(page)
            # plotly's figures and sliders arrive some time after the kernel is idle
            drawn = f"document.querySelectorAll('.heatmaplayer image').length === {len(SIZES)}"
            page.wait_for_function(drawn, timeout=60_000)
            page.wait_for_timeout(2000)
            spent = {cell: [] for cell in cells}
            places = page.locator(".jp-Notebook .jp-CodeCell")
            for n in SIZES:
                for way in ("ours", "plotly"):
                    places.nth(cells.index((way, n))).scroll_into_view_if_needed()
                for turn in range(moves + 3):
                    for way, script in (("ours", MOVE_OURS), ("plotly", MOVE_PLOTLY)):
                        if way == "plotly" and turn >= moves // 4 + 3:
                            continue  # it is slow enough to be known from fewer moves
                        cell = places.nth(cells.index((way, n)))
                        cell.scroll_into_view_if_needed()
                        took = cell.evaluate(script)
                        if turn >= 3:  # the first moves warm up
                            spent[way, n].append(took)
            return spent


def quantile(values: list[float], share: float) -> float:
    """The value below which ``share`` of the values lie."""
    return sorted(values)[min(len(values) - 1, int(share * len(values)))]


def latency_table(spent) -> str:
    lines = [f"{'slider to new pixels, ms':34}{'median':>9}{'p95':>9}{'moves':>7}{'lost':>6}"]
    names = {"ours": "AttentionSteps", "plotly": "FigureWidget + ipywidgets"}
    for (way, n), all_ in spent.items():
        got = [x for x in all_ if x is not None]
        name = f"{names[way]}, n = {n}"
        middle = f"{statistics.median(got):9.1f}{quantile(got, 0.95):9.1f}" if got else " " * 18
        lines.append(f"{name:34}{middle}{len(all_):7}{len(all_) - len(got):6}")
    return "\n".join(lines)


def payload_table() -> str:
    """Bytes of one output; bertviz and plotly as recorded on 12 x 12 heads in November 2026."""
    import torch

    from attn_edu.views import AttentionMap, AttentionSteps, HeadSplit

    torch.manual_seed(0)
    words = [f"word{i}" for i in range(128)]
    causal = torch.ones(128, 128).triu(1).bool()
    maps = (2 * torch.randn(12, 12, 128, 128)).masked_fill(causal, -torch.inf).softmax(-1)
    views = {
        "AttentionMap, 1 head x 11 words": AttentionMap(maps[0, 0, :11, :11], words[:11]),
        "AttentionMap, 12 x 12 heads x 16": AttentionMap(maps[:, :, :16, :16], words[:16]),
        "AttentionMap, 12 x 12 heads x 64": AttentionMap(maps[:, :, :64, :64], words[:64]),
        "AttentionMap, 12 x 12 heads x 128": AttentionMap(maps, words),
        "AttentionSteps, 11 words, d = 32": AttentionSteps(*torch.randn(3, 11, 32), words[:11]),
        "HeadSplit, 6 words, 3 heads x 4": HeadSplit(6, 3, 4, words[:6]),
    }
    recorded = {16: "1.0 MB", 64: "16 MB", 128: "65 MB"}
    lines = [f"{'bytes of one output':38}{'ours':>10}   bertviz (recorded, not run here)"]
    for name, view in views.items():
        size = len(view._repr_mimebundle_()["text/html"].encode())
        last = int(name.split()[-1]) if "12 x 12" in name else None
        lines.append(f"{name:38}{size:10,}   {recorded.get(last, '')}".rstrip())
    return "\n".join(lines)


def main(arguments: list[str] = ()) -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser("make bench ARGS=views", description=__doc__)
    parser.add_argument("--moves", type=int, default=40, help="moves of our sliders (plotly: 1/4)")
    moves = parser.parse_args(arguments).moves
    print(payload_table(), flush=True)
    print()
    spent = measure(moves)
    print(latency_table(spent), flush=True)
    got = {place: [x for x in all_ if x is not None] for place, all_ in spent.items()}
    medians = {
        f"{way} {n}": round(statistics.median(all_), 1) for (way, n), all_ in got.items() if all_
    }
    remember("views", {"ms": medians})
