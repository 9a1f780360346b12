"""One look for all curves: fonts, colours, dashes. Legible on a light and on a dark page."""

FONT = 'system-ui, "Segoe UI", "Noto Sans", "Noto Sans CJK TC", "DejaVu Sans", sans-serif'
# Okabe & Ito's (2008) colours, the light ones darkened: each has a contrast of 3 or more to white
# and to JupyterLab's dark page. A line differs by dash and marker too, never by colour alone.
COLOURS = ("#0077bb", "#d55e00", "#00916a", "#b5629b", "#a07500", "#7b6fd0")
GREY = "#7b7b7b"
DASHES = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot")
MARKERS = ("circle", "square", "diamond", "triangle-up", "x", "star")
# Without "responsive": in JupyterLab it makes a figure shrink to nothing when the window changes.
CONFIG = {
    "displaylogo": False,
    "modeBarButtonsToRemove": ["sendChartToCloud", "lasso2d", "select2d", "autoScale2d"],
}

_AXIS = {
    "gridcolor": "rgba(128,128,128,0.25)",
    "linecolor": GREY,
    "zeroline": False,
    "ticks": "outside",
    "tickcolor": GREY,
    "tickfont": {"size": 12},
    "automargin": True,
    "title": {"standoff": 10, "font": {"size": 14}},
}
TEMPLATE = {
    "layout": {
        "font": {"family": FONT, "size": 14, "color": GREY},
        "title": {"x": 0, "xref": "paper", "xanchor": "left", "font": {"size": 16}},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "colorway": list(COLOURS),
        "xaxis": _AXIS,
        "yaxis": _AXIS,
        "legend": {"itemwidth": 48, "font": {"size": 13}},
        "modebar": {"bgcolor": "rgba(0,0,0,0)", "color": GREY, "activecolor": COLOURS[0]},
        "hoverlabel": {"font": {"family": FONT, "size": 13}},
        "margin": {"l": 70, "r": 20, "t": 50, "b": 60},
    }
}


SLIDER = {
    "bgcolor": "rgba(128,128,128,0.25)",
    "activebgcolor": GREY,
    "bordercolor": GREY,
    "tickcolor": GREY,
}


def faded(colour: str, alpha: float) -> str:
    """``"#rrggbb"`` as ``"rgba(r,g,b,alpha)"``."""
    red, green, blue = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return f"rgba({red},{green},{blue},{alpha})"
