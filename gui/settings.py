"""What is remembered between starts: one table of settings, recent models, the window's layout."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

from PySide6.QtCore import QByteArray, QObject, QSettings, Signal

from logitscope.backends.base import MOST_THREADS, LoadOptions
from logitscope.gui import theme
from logitscope.gui.words import mark

T = TypeVar("T", bool, int, str)

RECENT_LIMIT = 12
AUTOMATIC = 0
"""Value of a number that the program chooses by itself."""
AUTOMATIC_LAYERS = -1
"""0 is a choice here: everything on the processor."""


@dataclass(frozen=True, slots=True)
class Setting(Generic[T]):
    """One line of the table: what is stored, and how the dialog asks for it."""

    key: str
    default: T
    group: str
    title: str
    help: str
    low: int = 0
    high: int = 0
    choices: tuple[tuple[str, str], ...] = ()
    """Of a text: (value, label)."""
    special: str = ""
    """What the dialog shows for ``low``, such as "Automatic"."""
    suffix: str = ""

    def read(self, stored: object) -> T:
        """The stored value as this type; the default where it makes no sense."""
        value = _as_type(self.default, stored)
        if value is None or not self.allows(value):
            return self.default
        return value

    def allows(self, value: T) -> bool:
        if isinstance(value, bool):
            return True
        if isinstance(value, int):
            return self.low <= value <= self.high
        return not self.choices or value in {choice for choice, _ in self.choices}


AnySetting = Setting[bool] | Setting[int] | Setting[str]

APPEARANCE = mark("Settings", "Appearance")
GENERATION = mark("Settings", "Generation")
MODEL = mark("Settings", "Loading models")

THEME = Setting(
    "appearance/theme",
    "system",
    APPEARANCE,
    mark("Settings", "Colours"),
    mark("Settings", "Light, dark, or whatever the system uses."),
    choices=(
        ("system", mark("Settings", "Like the system")),
        ("light", mark("Settings", "Light")),
        ("dark", mark("Settings", "Dark")),
    ),
)
ZOOM = Setting(
    "appearance/zoom",
    0,
    APPEARANCE,
    mark("Settings", "Text size"),
    mark("Settings", "Points added to the system's text size."),
    low=theme.ZOOM_LIMITS[0],
    high=theme.ZOOM_LIMITS[1],
    suffix=" pt",
)
RUN_LENGTH = Setting(
    "generation/run_length",
    64,
    GENERATION,
    mark("Settings", "Tokens per run"),
    mark("Settings", "How many tokens Run generates before it stops by itself."),
    low=1,
    high=100_000,
)
BARS = Setting(
    "distribution/bars",
    20,
    APPEARANCE,
    mark("Settings", "Bars"),
    mark("Settings", "How many of the likeliest tokens have a bar of their own."),
    low=5,
    high=200,
)
MARKS = Setting(
    "text/marks",
    True,
    APPEARANCE,
    mark("Settings", "Whitespace marks"),
    mark("Settings", "Whitespace and invisible characters of the tokens can be seen."),
)
IDS = Setting(
    "text/ids",
    False,
    APPEARANCE,
    mark("Settings", "Token ids"),
    mark("Settings", "Ids stand below the tokens."),
)
MOTION = Setting(
    "appearance/motion",
    True,
    APPEARANCE,
    mark("Settings", "Animation"),
    mark("Settings", "The outline around a control that a lesson speaks of pulses."),
)
OPEN_LAST = Setting(
    "model/open_last",
    True,
    MODEL,
    mark("Settings", "Open the last model at start"),
    mark("Settings", "Otherwise the window starts empty."),
)
CONTEXT = Setting(
    "model/context_length",
    AUTOMATIC,
    MODEL,
    mark("Settings", "Context length"),
    mark("Settings", "Tokens the model can hold; more needs more memory."),
    high=10_000_000,
    special=mark("Settings", "Automatic"),
)
THREADS = Setting(
    "model/threads",
    AUTOMATIC,
    MODEL,
    mark("Settings", "Threads"),
    mark("Settings", "Processor threads for the model; automatic: physical cores."),
    high=MOST_THREADS,
    special=mark("Settings", "Automatic"),
)
GPU_LAYERS = Setting(
    "model/gpu_layers",
    AUTOMATIC_LAYERS,
    MODEL,
    mark("Settings", "GPU layers"),
    mark("Settings", "Layers of a GGUF model on the GPU; 0: none."),
    low=AUTOMATIC_LAYERS,
    high=10_000,
    special=mark("Settings", "Automatic"),
)
CACHE_TYPE = Setting(
    "model/cache_type",
    "f16",
    MODEL,
    mark("Settings", "KV cache"),
    mark("Settings", "Precision of the KV cache of GGUF models."),
    choices=(
        ("f16", mark("Settings", "16 bits, half the memory")),
        ("f32", mark("Settings", "32 bits, exact")),
    ),
)

FLASH = Setting(
    "model/flash_attention",
    "auto",
    MODEL,
    mark("Settings", "Flash attention"),
    mark("Settings", "Of GGUF models; a little faster on the processor, with other probabilities."),
    choices=(
        ("auto", mark("Settings", "On a GPU only")),
        ("on", mark("Settings", "Wherever it can be")),
        ("off", mark("Settings", "Never")),
    ),
)
FLASH_VALUES = {"auto": None, "on": True, "off": False}

TABLE: tuple[AnySetting, ...] = (
    THEME,
    ZOOM,
    BARS,
    MARKS,
    IDS,
    MOTION,
    RUN_LENGTH,
    OPEN_LAST,
    CONTEXT,
    THREADS,
    GPU_LAYERS,
    CACHE_TYPE,
    FLASH,
)

_RECENT = "recent/models"
_GEOMETRY = "window/geometry"
_LAYOUT = "window/layout"


class Settings(QObject):
    """The values of the table, kept in the system's usual place for settings."""

    changed = Signal(str)
    """The key of the setting that has another value now."""
    recent_changed = Signal()

    def __init__(self, store: QSettings | None = None, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._store = store or QSettings(
            QSettings.Format.IniFormat, QSettings.Scope.UserScope, "Logitscope", "Logitscope"
        )

    def get(self, setting: Setting[T]) -> T:
        return setting.read(self._store.value(setting.key))

    def set(self, setting: Setting[T], value: T) -> None:
        """Remember a value; ValueError where the setting does not allow it."""
        if not setting.allows(value):
            raise ValueError(f"{setting.key} cannot be {value!r}")
        if value != self.get(setting):
            self._store.setValue(setting.key, value)
            self.changed.emit(setting.key)

    def value(self, setting: AnySetting) -> bool | int | str:
        """The value of a setting whose type does not matter here."""
        return setting.read(self._store.value(setting.key))

    def reset(self) -> None:
        """Give every setting of the table its default."""
        for setting in TABLE:
            before = self.value(setting)
            self._store.remove(setting.key)
            if before != setting.default:
                self.changed.emit(setting.key)

    def load_options(self) -> LoadOptions:
        """How a model is loaded where nothing else was asked for."""
        layers = self.get(GPU_LAYERS)
        return LoadOptions(
            context_length=self.get(CONTEXT) or None,
            threads=self.get(THREADS) or None,
            gpu_layers=None if layers == AUTOMATIC_LAYERS else layers,
            cache_type=self.get(CACHE_TYPE),
            flash_attention=FLASH_VALUES[self.get(FLASH)],
        )

    # -- recent models ----------------------------------------------------------------------

    @property
    def recent(self) -> tuple[str, ...]:
        """Paths of the models opened last, newest first."""
        stored = self._store.value(_RECENT)
        if isinstance(stored, str):
            stored = [stored]
        return tuple(str(path) for path in stored) if isinstance(stored, list) else ()

    def remember_model(self, path: str) -> None:
        others = [known for known in self.recent if known != path]
        self._store.setValue(_RECENT, [path, *others][:RECENT_LIMIT])
        self.recent_changed.emit()

    def forget_models(self) -> None:
        self._store.remove(_RECENT)
        self.recent_changed.emit()

    # -- the window -------------------------------------------------------------------------

    @property
    def layout(self) -> tuple[QByteArray, QByteArray] | None:
        """Geometry and dock layout of the last window."""
        geometry, layout = self._store.value(_GEOMETRY), self._store.value(_LAYOUT)
        if isinstance(geometry, QByteArray) and isinstance(layout, QByteArray):
            return geometry, layout
        return None

    def save_layout(self, geometry: QByteArray, layout: QByteArray) -> None:
        self._store.setValue(_GEOMETRY, geometry)
        self._store.setValue(_LAYOUT, layout)

    def sync(self) -> None:
        """Write what is still in memory to the disk."""
        self._store.sync()


def exists(path: str) -> bool:
    """Whether a model is still where it was; a name that is no path counts as there."""
    return path.startswith("fake:") or is_on_disk(path)


def is_on_disk(path: str) -> bool:
    """False, too, for what cannot be a path."""
    try:
        return Path(path).exists()
    except OSError:
        return False


def _as_type(default: T, stored: object) -> T | None:
    """INI files hold text; a native store holds the type itself."""
    if isinstance(default, bool):
        return stored in {True, "true", "1"} if stored in {True, False, "true", "false"} else None
    if isinstance(default, int):
        try:
            return int(str(stored))
        except ValueError:
            return None
    return stored if isinstance(stored, str) else None
