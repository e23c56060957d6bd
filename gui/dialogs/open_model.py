"""Open a model with options, seeing first what its files say and the memory it will take."""

from __future__ import annotations

from pathlib import Path

import psutil
from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtWidgets import (
    QComboBox,
    QDialog,
    QDialogButtonBox,
    QFileDialog,
    QFormLayout,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QPushButton,
    QSpinBox,
    QVBoxLayout,
    QWidget,
)

from logitscope.backends.base import BackendError, LoadOptions
from logitscope.backends.inspect import (
    HeaderSummary,
    MemoryEstimate,
    context_for,
    estimate_memory,
    inspect,
)
from logitscope.backends.registry import installed_backends
from logitscope.gui import icons, theme
from logitscope.gui.background import Background
from logitscope.gui.panels.model import size_text
from logitscope.gui.settings import (
    AUTOMATIC,
    AUTOMATIC_LAYERS,
    CACHE_TYPE,
    CONTEXT,
    FLASH,
    FLASH_VALUES,
    GPU_LAYERS,
    THREADS,
    Setting,
    Settings,
)
from logitscope.gui.widgets.memory_bar import MemoryBar, Part
from logitscope.gui.widgets.plain import plain
from logitscope.gui.words import translated

BACKEND_NAMES = {"llamacpp": "llama.cpp", "hf": "Transformers (PyTorch)"}
TYPING_MS = 300


class OpenModelDialog(QDialog):
    """``wanted`` tells path, backend ("": by the files) and options."""

    wanted = Signal(str, str, object)

    def __init__(
        self,
        settings: Settings,
        background: Background,
        path: str = "",
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._background = background
        self._asked = 0
        self._summary: HeaderSummary | None = None
        self.setWindowTitle(self.tr("Open with options"))
        self.path = QLineEdit(path, placeholderText=self.tr("GGUF file or model folder"))
        self.says = plain(QLabel(wordWrap=True))
        self.says.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.backend = self._backend_box()
        self.context = self._number_box(settings.get(CONTEXT), CONTEXT.low, CONTEXT.high)
        self.threads = self._number_box(settings.get(THREADS), THREADS.low, THREADS.high)
        self.layers = self._number_box(settings.get(GPU_LAYERS), GPU_LAYERS.low, GPU_LAYERS.high)
        self.cache = _choice_box(CACHE_TYPE, settings.get(CACHE_TYPE))
        self.flash = _choice_box(FLASH, settings.get(FLASH))
        self.bar = MemoryBar()
        self.memory = plain(QLabel(wordWrap=True))
        self._lay_out()
        self._typing = QTimer(self, singleShot=True, interval=TYPING_MS)
        self._typing.timeout.connect(self.look)
        self.path.textChanged.connect(self._typing.start)
        self.context.valueChanged.connect(self._show_memory)
        self.cache.currentIndexChanged.connect(self._show_memory)
        self._show_summary(self.tr("Choose a file or a folder."))
        if path:
            self.path.selectAll()
            self.look()

    # -- making -----------------------------------------------------------------------------

    def _backend_box(self) -> QComboBox:
        box = QComboBox()
        box.addItem(self.tr("Automatic"), "")
        for name in installed_backends():
            if name != "fake":
                box.addItem(BACKEND_NAMES.get(name, name), name)
        return box

    def _number_box(self, value: int, low: int, high: int) -> QSpinBox:
        box = QSpinBox()
        box.setRange(low, high)
        box.setSpecialValueText(self.tr("Automatic"))
        box.setGroupSeparatorShown(True)
        box.setSingleStep(512 if high == CONTEXT.high else 1)
        box.setValue(value)
        return box

    def _lay_out(self) -> None:
        form = QFormLayout()
        form.setHorizontalSpacing(16)
        form.setVerticalSpacing(theme.GRID)
        form.setFieldGrowthPolicy(QFormLayout.FieldGrowthPolicy.AllNonFixedFieldsGrow)
        form.addRow(self.tr("Model"), self._path_row())
        form.addRow("", self.says)
        for title, field in (
            (self.tr("Backend"), self.backend),
            (self.tr("Context length"), self.context),
            (self.tr("Threads"), self.threads),
            (self.tr("GPU layers"), self.layers),
            (self.tr("KV cache"), self.cache),
            (self.tr("Flash attention"), self.flash),
        ):
            field.setAccessibleName(title)
            form.addRow(title, field)
        form.addRow(self.tr("Memory"), self.bar)
        form.addRow("", self.memory)
        kind = QDialogButtonBox.StandardButton
        self.buttons = QDialogButtonBox(kind.Open | kind.Cancel)
        self.buttons.accepted.connect(self._open)
        self.buttons.rejected.connect(self.reject)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(24, 24, 24, 16)
        layout.setSpacing(16)
        layout.addLayout(form)
        layout.addStretch(1)
        layout.addWidget(self.buttons)
        self.resize(600, 480)

    def _path_row(self) -> QWidget:
        holder = QWidget()
        row = QHBoxLayout(holder)
        row.setContentsMargins(0, 0, 0, 0)
        self.path.setAccessibleName(self.tr("Model"))
        row.addWidget(self.path, 1)
        for title, icon, is_folder in (
            (self.tr("File…"), "open", False),
            (self.tr("Folder…"), "folder", True),
        ):
            button = QPushButton(icons.icon(icon), title)
            button.setAutoDefault(False)
            button.clicked.connect(lambda _checked, folder=is_folder: self._browse(folder))
            row.addWidget(button)
        return holder

    def _browse(self, is_folder: bool) -> None:
        dialog = QFileDialog(self, self.tr("Choose a model"), str(Path(self.path.text()).parent))
        if is_folder:
            dialog.setFileMode(QFileDialog.FileMode.Directory)
        else:
            dialog.setNameFilters([self.tr("GGUF models (*.gguf)"), self.tr("All files (*)")])
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.fileSelected.connect(self.path.setText)
        dialog.open()

    # -- looking ----------------------------------------------------------------------------

    def look(self) -> None:
        """Read the header of the path, in a process of its own; the newest path wins."""
        self._asked += 1
        asked = self._asked
        path = Path(self.path.text().strip()).expanduser()
        self._summary = None
        self._show_summary(self.tr("Reading the header …"))

        def done(summary: HeaderSummary) -> None:
            if asked == self._asked:
                self._summary = summary
                self._show_summary(_described(summary))

        def failed(error: Exception) -> None:
            if asked == self._asked:
                expected = isinstance(error, BackendError)
                self._show_summary(str(error) if expected else repr(error), is_error=True)

        if self.path.text().strip():
            self._background.start(lambda: inspect(path), done, failed)
        else:
            self._show_summary(self.tr("Choose a file or a folder."))

    @property
    def estimate(self) -> MemoryEstimate | None:
        """For what is chosen now; None while the header is not known."""
        if self._summary is None:
            return None
        context = context_for(self._summary, self.context.value() or None)
        return estimate_memory(self._summary, context, str(self.cache.currentData()))

    def _show_summary(self, text: str, *, is_error: bool = False) -> None:
        refusal = self._summary.refusal if self._summary is not None else ""
        self.says.setText(refusal or text)
        color = theme.palette().error if is_error or refusal else theme.palette().muted
        self.says.setStyleSheet(f"color: {color.name()}")
        can_open = self._summary is not None and not refusal
        self.buttons.button(QDialogButtonBox.StandardButton.Open).setEnabled(can_open)
        self._show_memory()

    def _show_memory(self) -> None:
        estimate = self.estimate
        if estimate is None:
            self.bar.set_parts((), 0)
            self.memory.setText("")
            return
        free = psutil.virtual_memory().available
        self.bar.set_parts(
            (
                Part(estimate.weights, "bar_shaped"),
                Part(estimate.kv_cache, "weights"),
                Part(estimate.buffers, "uncertain"),
            ),
            free,
        )
        words = self.tr(
            "About {total}: weights {weights}, KV cache {kv}, buffers {buffers}. Free: {free}."
        ).format(
            total=size_text(estimate.total),
            weights=size_text(estimate.weights),
            kv=size_text(estimate.kv_cache),
            buffers=size_text(estimate.buffers),
            free=size_text(free),
        )
        fits = estimate.total <= free
        self.memory.setText(words if fits else f"{words} {self.tr('This may not fit.')}")
        color = theme.palette().muted if fits else theme.palette().error
        self.memory.setStyleSheet(f"color: {color.name()}")

    def _open(self) -> None:
        layers = self.layers.value()
        options = LoadOptions(
            context_length=self.context.value() or None,
            threads=None if self.threads.value() == AUTOMATIC else self.threads.value(),
            gpu_layers=None if layers == AUTOMATIC_LAYERS else layers,
            cache_type=str(self.cache.currentData()),
            flash_attention=FLASH_VALUES[str(self.flash.currentData())],
        )
        self.accept()
        path = str(Path(self.path.text().strip()).expanduser())
        self.wanted.emit(path, str(self.backend.currentData()), options)


def _choice_box(setting: Setting[str], value: str) -> QComboBox:
    box = QComboBox()
    for choice, label in setting.choices:
        box.addItem(translated("Settings", label), choice)
    box.setCurrentIndex(box.findData(value))
    return box


def _described(summary: HeaderSummary) -> str:
    parts = [summary.name or Path(summary.path).name, summary.architecture, summary.quantization]
    if summary.parameters:
        parts.append(f"{summary.parameters / 1e9:.2f} B" if summary.parameters >= 1e9
                     else f"{summary.parameters / 1e6:.0f} M")  # fmt: skip
    if summary.context_length:
        parts.append(f"{summary.context_length:,} tokens")
    parts.append(summary.format)
    return " · ".join(part for part in parts if part)
