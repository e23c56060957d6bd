"""Make the virtual environment that `make run` and `make test` use. Standard library only.

    python3 packaging/setup_environment.py run|test

Checks for Qt's system libraries and a C++ compiler first and says in one line what to install; as
root on Debian and its relatives it installs them. Does nothing where a stamp says that the
environment already fits the requirements.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
LOG = VENV / "setup.log"
CONSTRAINTS = ROOT / "packaging" / "constraints.txt"
EXTRAS = {"run": "torch,llama,gemma", "test": "torch,llama,gemma,test"}
TAIL_LINES = 30
SECONDS_BETWEEN_SIGNS = 15

QT_LIBRARIES = {
    "libEGL.so.1": "libegl1",
    "libGL.so.1": "libgl1",
    "libxkbcommon.so.0": "libxkbcommon0",
    "libdbus-1.so.3": "libdbus-1-3",
    "libfontconfig.so.1": "libfontconfig1",
}
"""What Qt loads even without a screen; file and Debian package."""
WINDOW_LIBRARIES = {
    "libxkbcommon-x11.so.0": "libxkbcommon-x11-0",
    "libxcb-cursor.so.0": "libxcb-cursor0",
    "libxcb-icccm.so.4": "libxcb-icccm4",
    "libxcb-image.so.0": "libxcb-image0",
    "libxcb-keysyms.so.1": "libxcb-keysyms1",
    "libxcb-randr.so.0": "libxcb-randr0",
    "libxcb-render-util.so.0": "libxcb-render-util0",
    "libxcb-shape.so.0": "libxcb-shape0",
    "libxcb-xinerama.so.0": "libxcb-xinerama0",
    "libxcb-xkb.so.1": "libxcb-xkb1",
}
"""What Qt loads for a window on an X11 screen."""
ELSEWHERE = {
    "darwin": {
        "g++": "a C++ compiler (xcode-select --install)",
        "python3-venv": "Python's own pip, ensurepip (install Python from python.org)",
    },
    "win32": {
        "g++": "a C++ compiler (Visual Studio Build Tools, workload C++)",
        "python3-venv": "Python's own pip, ensurepip (install Python from python.org)",
    },
}
"""What the Debian packages are for, on systems that have none of them, and where to get it."""


def main() -> int:
    """Exit code 0 when the environment is ready."""
    if sys.argv[1:] not in (["run"], ["test"]):
        print(__doc__, file=sys.stderr)
        return 2
    kind = sys.argv[1]
    if is_ready(kind):
        return 0
    if sys.version_info < (3, 11):  # noqa: UP036 - it runs before anything is installed
        have = ".".join(map(str, sys.version_info[:3]))
        return fail(f"Python 3.11 or newer is needed, not {have}: make PYTHON=python3.11 {kind}")
    code = provide(missing_packages(kind))
    # The environment of the tests holds all that the window needs.
    if code == 0 and not is_ready("test"):
        code = create_venv() or install(kind)
    if code == 0:
        stamp(kind).write_text(fingerprint(kind))
    return code


def stamp(kind: str) -> Path:
    return VENV / f"ready-{kind}"


def is_ready(kind: str) -> bool:
    return stamp(kind).is_file() and stamp(kind).read_text() == fingerprint(kind)


def fail(sentence: str) -> int:
    print(sentence, file=sys.stderr)
    return 1


def fingerprint(kind: str) -> str:
    """Changes with the requirements, the interpreter and the place of the checkout."""
    digest = hashlib.sha256(f"{kind} {sys.version} {ROOT}".encode())
    for path in (ROOT / "pyproject.toml", CONSTRAINTS):
        digest.update(path.read_bytes())
    return digest.hexdigest()


# -- what the system must have ------------------------------------------------------------------


def missing_packages(kind: str) -> list[str]:
    """Debian names of what is not there; the compiler only until llama.cpp has been built."""
    missing = []
    if not python_of(VENV).exists() and not has_module("ensurepip"):
        missing.append("python3-venv")
    if not is_built() and not has_compiler():
        missing.append("g++")
    if sys.platform == "linux":
        needed = QT_LIBRARIES | (WINDOW_LIBRARIES if kind == "run" else {})
        missing += [package for file, package in needed.items() if not loads(file)]
    return missing


def is_built() -> bool:
    """Whether llama.cpp is there already."""
    places = ("lib/python*/site-packages/llama_cpp", "Lib/site-packages/llama_cpp")
    return any(any(VENV.glob(place)) for place in places)


def has_compiler() -> bool:
    if sys.platform == "darwin":
        # Without the tools, /usr/bin/clang++ is there too, and only offers to install them.
        asked = subprocess.run(["xcode-select", "-p"], check=False, capture_output=True)
        return asked.returncode == 0
    if any(shutil.which(name) for name in ("c++", "g++", "clang++", "cl")):
        return True
    # Visual Studio's compiler is on the path of its own prompt only; CMake finds it where it is.
    folders = {os.environ.get(name) for name in ("ProgramFiles", "ProgramFiles(x86)")} - {None}
    compiler = "Microsoft Visual Studio/*/*/VC/Tools/MSVC"
    return any(any(Path(str(folder)).glob(compiler)) for folder in folders)


def has_module(name: str) -> bool:
    from importlib.util import find_spec

    return find_spec(name) is not None


def loads(file: str) -> bool:
    try:
        ctypes.CDLL(file)
    except OSError:
        return False
    return True


def provide(packages: list[str]) -> int:
    """Install with apt as root on Debian; elsewhere say what to install."""
    if not packages:
        return 0
    names = " ".join(packages)
    if sys.platform in ELSEWHERE:
        return fail("Missing: " + ", ".join(ELSEWHERE[sys.platform][name] for name in packages))
    if not shutil.which("apt-get"):
        return fail(f"Missing (Debian names): {names}: install them with your package manager")
    if os.geteuid() != 0:
        return fail(f"Missing: sudo apt-get install {names}")
    print(f"Installing with apt-get: {names}", flush=True)
    environment = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
    command = ["apt-get", "install", "-y", "--no-install-recommends", *packages]
    for step in (["apt-get", "update"], command):
        result = subprocess.run(
            step,
            env=environment,
            check=False,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
        )
    if result.returncode:
        print(result.stderr[-2000:], file=sys.stderr)
        return fail(f"apt-get could not install: {names}")
    return 0


# -- the environment -----------------------------------------------------------------------------


def python_of(venv: Path) -> Path:
    return venv / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")


def create_venv() -> int:
    if not python_of(VENV).exists():
        command = [sys.executable, "-m", "venv", str(VENV)]
        if subprocess.run(command, stdin=subprocess.DEVNULL, check=False).returncode:
            return fail("The virtual environment .venv cannot be created: see above")
    return 0


def install(kind: str) -> int:
    """pip with its output in a log; a sign of life while it runs, the log's end if it fails."""
    print(
        f"Installing Logitscope and its libraries (log: {LOG.relative_to(ROOT)}).\n"
        "llama-cpp-python is compiled here the first time: about 5 minutes on two cores.",
        flush=True,
    )
    command = [str(python_of(VENV)), "-m", "pip", "install", "--no-input", "--progress-bar", "off"]
    command += ["--constraint", str(CONSTRAINTS), "--editable", f"{ROOT}[{EXTRAS[kind]}]"]
    environment = os.environ | {"PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    with LOG.open("w") as log:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT, env=environment
        )
        code = wait_with_signs(process)
    if code:
        lines = LOG.read_text(errors="replace").splitlines()
        print("\n".join(lines[-TAIL_LINES:]), file=sys.stderr)
        return fail(f"pip failed (whole log: {LOG.relative_to(ROOT)})")
    return 0


def wait_with_signs(process: subprocess.Popen[bytes]) -> int:
    """The exit code; meanwhile a line about what pip is doing."""
    start = time.monotonic()
    while True:
        try:
            return process.wait(timeout=SECONDS_BETWEEN_SIGNS)
        except subprocess.TimeoutExpired:
            minutes, seconds = divmod(int(time.monotonic() - start), 60)
            print(f"  {minutes}:{seconds:02} {doing()}", flush=True)
        except KeyboardInterrupt:
            process.terminate()
            process.wait()
            raise SystemExit(130) from None


def doing() -> str:
    """The stage that pip's log has reached."""
    for line in reversed(LOG.read_text(errors="replace").splitlines()):
        words = line.split()
        if line.lstrip().startswith("Building wheel for") and "finished" not in line:
            return "compiling " + words[3]
        if line.startswith("Installing collected packages"):
            return "unpacking the libraries"
        if words[:1] in (["Collecting"], ["Downloading"], ["Using"]):
            return "fetching " + words[-1 if words[0] == "Using" else 1]
    return "starting"


if __name__ == "__main__":
    sys.exit(main())
