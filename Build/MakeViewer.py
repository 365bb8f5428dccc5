#!/usr/bin/env python3
"""Puts the viewer's page together: one file that needs nothing else.

    Build/MakeViewer.py [--mock] [--wasm FILE] [--parts FOLDER] OUTPUT

The scripts share one scope: Format.js and Main.js come first, Start.js last,
the others in the order of their names.  The worker's program (WorkerFiles.js,
Worker.js) and the engine in WebAssembly are data of the page.  With --mock the
page has an engine over calls that are made up, which it opens by itself.

FOLDER gets the page in two parts, Before.html and After.html: TraceReader puts
between them what it knows of a session.
"""

import argparse
import base64
import pathlib

PAGE = pathlib.Path(__file__).resolve().parent.parent / "Reader/View/Page"
FIRST = ["Format.js", "Main.js"]
LAST = ["Start.js"]
DATA = ["WorkerFiles.js", "Worker.js"]


def read(name):
    return (PAGE / name).read_text(encoding="utf-8")


def list_scripts(with_mock):
    names = sorted(path.name for path in PAGE.glob("*.js"))
    others = [name for name in names if name not in FIRST + LAST + DATA and
              (with_mock or name != "Mock.js")]
    return FIRST + others + LAST


def make_data(name, kind, text):
    return f'<script type="{kind}" id="{name}">{text}</script>\n'


def make_page(with_mock, wasm):
    """What comes before what TraceReader adds, and what comes after it."""
    styles = "".join(read(path.name) for path in sorted(PAGE.glob("*.css")))
    before = [read("Head.html"), "<style>\n", styles, "</style>\n",
              read("Body.html")]
    after = []
    worker = "".join(read(name) for name in DATA)
    after.append(make_data("workerSource", "text/plain;base64",
                           base64.b64encode(worker.encode()).decode()))
    if wasm:
        text = base64.b64encode(pathlib.Path(wasm).read_bytes()).decode()
        after.append(make_data("wasm", "application/wasm;base64", text))
    scripts = "".join(read(name) for name in list_scripts(with_mock))
    if "</script" in scripts.lower():
        raise SystemExit("MakeViewer.py: a script has </script in it")
    after += ["<script>\n'use strict';\n(() => {\n", scripts,
              "})();\n</script>\n</body>\n</html>\n"]
    return "".join(before), "".join(after)


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8", newline="\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mock", action="store_true")
    parser.add_argument("--wasm")
    parser.add_argument("--parts")
    parser.add_argument("output")
    arguments = parser.parse_args()
    before, after = make_page(arguments.mock, arguments.wasm)
    if arguments.parts:
        write(pathlib.Path(arguments.parts) / "Before.html", before)
        write(pathlib.Path(arguments.parts) / "After.html", after)
    write(pathlib.Path(arguments.output), before + after)


if __name__ == "__main__":
    main()
