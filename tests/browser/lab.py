"""Drive a real JupyterLab in Chromium, for the tests in this folder and for bench/.

    with Lab(folder) as lab:
        page = lab.open("02_single_head.ipynb")
        lab.run_all(page)
        assert not lab.errors(page) and not lab.console_errors(page)

Chromium is the system's (playwright downloads nothing); `chromium_path()` says where it is.
"""

import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, sync_playwright

FLAGS = [
    "--no-sandbox",  # as root in a container there is no other way
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
HOW_TO_INSTALL = (
    "no Chromium was found: `apt install chromium fonts-dejavu fonts-noto-cjk`, or set CHROMIUM "
    "to the path of a Chromium or Chrome"
)
# What JupyterLab itself writes to the console as errors; not of the course's making.
NOT_OURS = re.compile(r"favicon|/api/workspaces|/static/|/lab/api/|Failed to load resource.*404")
SETTINGS = {
    # every cell stays in the page (JupyterLab takes those of a long notebook out of it)
    "notebook-extension/tracker": {"windowingMode": "none"},
    "apputils-extension/notification": {"fetchNews": "false", "checkForUpdates": False},
    "docmanager-extension/plugin": {"autosave": False},
}


def chromium_path() -> str | None:
    """Where Chromium is, or None: $CHROMIUM, else the first of the usual names."""
    named = os.environ.get("CHROMIUM")
    return named or next((path for path in map(shutil.which, NAMES) if path), None)


def launch(playwright) -> Browser:
    """Chromium without a window."""
    return playwright.chromium.launch(executable_path=chromium_path(), args=FLAGS)


def listen(page: Page) -> Page:
    """Collect in `page.heard` what the page says on its console, and its uncaught errors."""
    page.heard = []
    page.on("console", lambda message: page.heard.append((message.type, message.text)))
    page.on("pageerror", lambda error: page.heard.append(("pageerror", str(error))))
    return page


def console_errors(page: Page) -> list[str]:
    """The errors that a page of `listen` reported, those of JupyterLab itself left out."""
    return [text for kind, text in page.heard if "error" in kind and not NOT_OURS.search(text)]


def axe(page: Page, selector: str | None = None) -> list[str]:
    """Accessibility violations (axe-core) inside the elements of a CSS selector, one line each."""
    context = selector and {"include": [[selector]]}
    told = {"resultTypes": ["violations"]}  # what passes is not listed: half the time
    found = Axe().run(page, context=context, options=told).response["violations"]
    return [
        f"{rule['id']} ({rule['impact']}): {node['html'][:160]} — {rule['help']}"
        for rule in found
        for node in rule["nodes"]
    ]


def open_offline(browser: Browser, path: Path, **context) -> Page:
    """A saved page opened from disk while every request but that for the file itself fails."""
    page = listen(browser.new_context(**context).new_page())
    address = Path(path).resolve().as_uri()

    def answer(route):
        route.continue_() if route.request.url.split("#")[0] == address else route.abort()

    page.route("**/*", answer)
    page.goto(address, wait_until="load")
    return page


class Lab:
    """A JupyterLab server on `root`, and a browser for it, until `close()`."""

    def __init__(self, root: Path, browser: Browser | None = None, wait: float = 180):
        self.root, self.token = Path(root), "course"
        self.own = Path(tempfile.mkdtemp(prefix="lab-"))
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.address = f"http://127.0.0.1:{free.getsockname()[1]}"
        self._start(wait)
        self._playwright = None if browser else sync_playwright().start()
        self.browser = browser or launch(self._playwright)

    def _start(self, wait: float) -> None:
        for plugin, settings in SETTINGS.items():
            path = self.own / "settings" / "@jupyterlab" / f"{plugin}.jupyterlab-settings"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps(settings))
        folders = {
            "JUPYTERLAB_SETTINGS_DIR": "settings",
            "JUPYTERLAB_WORKSPACES_DIR": "workspaces",
            "JUPYTER_CONFIG_DIR": "config",
            "JUPYTER_RUNTIME_DIR": "runtime",
            "JUPYTER_DATA_DIR": "data",
            "IPYTHONDIR": "ipython",
        }
        env = {**os.environ, **{name: str(self.own / folder) for name, folder in folders.items()}}
        command = [sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root"]
        command += [f"--ServerApp.port={self.address.rsplit(':', 1)[1]}"]
        command += ["--ServerApp.ip=127.0.0.1", "--ServerApp.port_retries=0"]
        command += [f"--IdentityProvider.token={self.token}", f"--ServerApp.root_dir={self.root}"]
        self.log = self.own / "lab.log"
        with self.log.open("w") as log:
            self.server = subprocess.Popen(command, env=env, stdout=log, stderr=log)
        end = time.monotonic() + wait
        while True:
            try:
                urllib.request.urlopen(f"{self.address}/api?token={self.token}", timeout=5).close()
                return
            except OSError:
                if self.server.poll() is not None or time.monotonic() > end:
                    self.server.kill()
                    raise RuntimeError(f"JupyterLab: {self.log.read_text()[-3000:]}") from None
                time.sleep(0.2)

    def trust(self, path: str) -> None:
        """Sign a notebook for this server, so that its saved outputs may run scripts."""
        env = {**os.environ, "JUPYTER_DATA_DIR": str(self.own / "data")}
        command = [sys.executable, "-m", "jupyter", "trust", str(self.root / path)]
        subprocess.run(command, env=env, check=True, capture_output=True)

    def open(self, path: str, size=(1280, 1000), timeout: float = 180, **context) -> Page:
        """The notebook in a fresh page with its kernel idle; errors are kept in `page.heard`."""
        width, height = size
        context = self.browser.new_context(viewport={"width": width, "height": height}, **context)
        page = listen(context.new_page())
        page.set_default_timeout(timeout * 1000)
        page.goto(f"{self.address}/lab/tree/{path}?reset&token={self.token}")
        # one placeholder cell, and an idle indicator, are there long before the notebook is
        page.wait_for_selector("#jupyterlab-splash", state="detached")
        page.wait_for_selector(".jp-NotebookPanel .jp-Cell")
        page.wait_for_selector(".jp-NotebookPanel .jp-Spinner", state="detached")
        cells = len(json.loads((self.root / path).read_text("utf-8"))["cells"])
        page.wait_for_function(
            "n => document.querySelectorAll('.jp-Notebook .jp-Cell').length === n", arg=cells
        )
        if page.locator(".jp-Dialog").count():
            raise RuntimeError(f"{path}: {page.locator('.jp-Dialog').first.inner_text()}")
        self.wait_idle(page)
        return page

    def wait_idle(self, page: Page, timeout: float = 300) -> None:
        """Wait until the status bar says that the kernel is idle."""
        bar = page.locator("#jp-main-statusbar .jp-StatusBar-TextItem")
        idle = bar.filter(has_text=re.compile(r"\| Idle$")).first
        idle.wait_for(timeout=timeout * 1000)

    def run_all(self, page: Page, timeout: float = 400) -> None:
        """Run every cell (menu Run, Run All Cells) and wait until the last one has its number."""
        page.evaluate("""() => document.querySelectorAll('.jp-Notebook .jp-InputPrompt')
            .forEach(prompt => { prompt.textContent = '' })""")
        page.locator(".lm-MenuBar-item", has_text="Run").first.click()
        page.locator('.lm-Menu-item[data-command="runmenu:run-all"]').click()
        page.wait_for_function(
            r"""() => [...document.querySelectorAll('.jp-Notebook .jp-CodeCell')].every(cell =>
                !cell.querySelector('.cm-content')?.textContent.trim() ||
                /\[\d+\]/.test(cell.querySelector('.jp-InputPrompt')?.textContent ?? '')
            ) || document.querySelector('.jp-RenderedText[data-mime-type$="error"]')""",
            timeout=timeout * 1000,
        )
        self.wait_idle(page)

    def run_cell(self, page: Page, number: int) -> str:
        """Run the cell of that number (0 is the first, texts count) and return what it shows."""
        cell = page.locator(".jp-Notebook .jp-Cell").nth(number)
        cell.locator(".cm-content").click()
        before = cell.locator(".jp-InputPrompt").inner_text()
        page.keyboard.press("Control+Enter")
        page.wait_for_function(
            r"""([number, before]) => {
                const cell = document.querySelectorAll('.jp-Notebook .jp-Cell')[number]
                const prompt = cell.querySelector('.jp-InputPrompt').textContent
                return prompt !== before && /\[\d+\]/.test(prompt)
            }""",
            arg=[number, before],
        )
        self.wait_idle(page)
        return cell.locator(".jp-OutputArea").inner_text()

    def restart(self, page: Page) -> None:
        """Restart the kernel by the menu, and wait until it is idle; the outputs stay."""
        page.locator(".lm-MenuBar-item", has_text="Kernel").first.click()
        page.locator('.lm-Menu-item[data-command="kernelmenu:restart"]').click()
        page.locator(".jp-Dialog .jp-mod-accept").click()
        page.locator(".jp-Dialog").wait_for(state="detached")
        self.wait_idle(page)

    def photograph(self, page: Page, path: Path, width: int = 1280) -> None:
        """A screenshot of the whole notebook, as high as it needs to be (at most 16,000 px)."""
        page.set_viewport_size({"width": width, "height": 1000})
        height = page.evaluate("""() => {
            const boxes = [...document.querySelectorAll('.jp-Notebook .jp-Cell')]
                .map(cell => cell.getBoundingClientRect())
            return boxes.at(-1).bottom - boxes[0].top
        }""")
        page.set_viewport_size({"width": width, "height": min(16_000, int(height) + 200)})
        page.evaluate("document.querySelector('.jp-WindowedPanel-outer').scrollTop = 0")
        page.wait_for_timeout(500)
        page.screenshot(path=path)

    def errors(self, page: Page) -> list[str]:
        """What cells show as an error or wrote to stderr."""
        kinds = ("application/vnd.jupyter.stderr", "application/vnd.jupyter.error")
        selector = ", ".join(f'.jp-OutputArea-output[data-mime-type="{kind}"]' for kind in kinds)
        return page.eval_on_selector_all(selector, "all => all.map(e => e.textContent)")

    def console_errors(self, page: Page) -> list[str]:
        return console_errors(page)

    def axe(self, page: Page, selector: str | None = ".jp-OutputArea-output") -> list[str]:
        return axe(page, selector)

    def end_kernels(self) -> None:
        """Shut down every kernel, so that a notebook which is opened again starts afresh."""
        address = f"{self.address}/api/sessions"
        headers = {"Authorization": f"token {self.token}"}
        with urllib.request.urlopen(urllib.request.Request(address, headers=headers)) as answer:
            sessions = json.load(answer)
        for session in sessions:
            end = urllib.request.Request(
                f"{address}/{session['id']}", headers=headers, method="DELETE"
            )
            urllib.request.urlopen(end).close()

    def close(self) -> None:
        """Stop the server (its kernels end with it), and the browser where it is our own."""
        if self._playwright:
            self.browser.close()
            self._playwright.stop()
        self.server.terminate()
        try:
            self.server.wait(20)
        except subprocess.TimeoutExpired:
            self.server.kill()
        shutil.rmtree(self.own, ignore_errors=True)

    def __enter__(self) -> "Lab":
        return self

    def __exit__(self, *error) -> None:
        self.close()
