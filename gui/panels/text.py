"""The text: prompt above, tokens of prompt and continuation below."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QPoint, Qt, QTimer
from PySide6.QtGui import QAction, QGuiApplication, QKeyEvent, QKeySequence
from PySide6.QtWidgets import QVBoxLayout, QWidget

from logitscope.blocks import edited
from logitscope.bos import BosTrouble, bos_trouble
from logitscope.display import name_of
from logitscope.gui import theme
from logitscope.gui.origin_style import source_tint
from logitscope.gui.panels.text_export import TextExport
from logitscope.gui.panels.text_strip import TextStrip
from logitscope.gui.panels.token_menu import TokenMenu
from logitscope.gui.panels.transport import Transport
from logitscope.gui.session import Session
from logitscope.gui.widgets.chat_editor import ChatEditor
from logitscope.gui.widgets.note_bar import NoteBar
from logitscope.gui.widgets.prompt_edit import PromptEdit, is_writing
from logitscope.gui.widgets.token_painter import CellStyle, Mark
from logitscope.gui.widgets.token_tooltip import tooltip
from logitscope.gui.widgets.token_view import TokenView
from logitscope.gui.words import mark
from logitscope.placed_spans import place_spans
from logitscope.sources import Place, has_sources, joined_spans, places_in
from logitscope.steps import Origin

STALE_MS = 150
"""Tokens of an older text are drawn faint only after this: most answers are faster."""


LEAST_VIEW = 6 * theme.GRID
"""Two lines of tokens: in a small panel the buttons below them stay in sight."""


class TextPanel(QWidget):
    """Prompt editor, token view and transport."""

    HELP = (
        mark("TextPanel", "Text"),
        mark(
            "TextPanel",
            "Write a prompt above; below it stands what the model receives, one cell a token. "
            "Tokens on a green tint were generated, underlined ones put there by you; an outline "
            "marks special tokens, and characters that several tokens share. "
            "Click a token to see the distribution it came from, double-click to rewind to it.",
        ),
    )

    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._session = session
        self._shown_prompt = 0
        self._source_of: dict[int, int] = {}
        """Tokens of the prompt in source spans, by the number of the span."""
        self._placed_ids: tuple[int, ...] | None = None
        """What `_source_of` was worked out for."""
        self._overlay: Callable[[int], CellStyle | None] | None = None
        self.editor = PromptEdit(self)
        self.editor.setPlaceholderText(self.tr("Type a prompt, such as: The sky is"))
        self.editor.setAccessibleName(self.tr("Prompt"))
        self.chat = ChatEditor(self)
        self.note = NoteBar(self)
        self.strip = TextStrip(session, self)
        self.view = TokenView(self)
        self.view.setMinimumHeight(LEAST_VIEW)
        self.view.set_style(self._style_of)
        self.view.set_tooltip(self._tooltip_of)
        self.token_menu = TokenMenu(session, self.view)
        self.export = TextExport(session, self.view)
        self.transport = Transport(session, self)
        self._stale = QTimer(self, interval=STALE_MS, singleShot=True)
        self._stale.timeout.connect(self._show_stale)
        self._arrange()
        self._connect()
        self._show_prompt()
        self._show_path()

    def _arrange(self) -> None:
        column = QVBoxLayout(self)
        column.setContentsMargins(theme.GRID, theme.GRID, theme.GRID, theme.GRID)
        column.setSpacing(theme.GRID)
        column.addWidget(self.editor)
        column.addWidget(self.chat)
        column.addWidget(self.note)
        column.addWidget(self.strip)
        column.addWidget(self.view, 1)
        column.addWidget(self.transport)
        self.setFocusProxy(self.editor)

    def _connect(self) -> None:
        session = self._session
        self.editor.edited.connect(self._take_text)
        self.editor.undo_requested.connect(session.undo)
        self.editor.redo_requested.connect(session.redo)
        self.chat.edited.connect(session.set_blocks)
        self.chat.sources_edited.connect(session.set_sources)
        self.chat.undo_requested.connect(session.undo)
        self.chat.redo_requested.connect(session.redo)
        self.view.position_selected.connect(session.select)
        self.view.rewind_requested.connect(self.token_menu.rewind)
        self.view.menu_requested.connect(self._open_menu)
        self.strip.marks_toggled.connect(self.view.set_marks)
        self.strip.ids_toggled.connect(self.view.set_shows_ids)
        session.prompt_changed.connect(self._show_prompt)
        session.sources_changed.connect(self._show_sources)
        for signal in (
            session.path_changed,
            session.model_changed,
            session.row_changed,
            session.noticed,
        ):
            signal.connect(self._show_path)
        session.selection_changed.connect(self._show_selection)
        session.run_changed.connect(self._show_run)
        session.reading.changed.connect(self._show_reading)

    def set_overlay(self, overlay: Callable[[int], CellStyle | None] | None) -> None:
        """Let another panel say how tokens are marked; where it says None, they are as usual."""
        self._overlay = overlay
        self.view.set_style(self._style_of)

    # -- sources ----------------------------------------------------------------------------

    @property
    def places(self) -> tuple[Place, ...]:
        """What is selected in the prompt, or where the caret is, block by block."""
        state = self._session.state
        if not state.chat:
            return places_in(state.blocks, *self.editor.chosen)
        place = self.chat.place
        return () if place is None else (place,)

    def set_source_actions(self, actions: list[QAction]) -> None:
        """What the editors' context menus offer besides."""
        self.editor.span_actions = actions
        self.chat.set_source_actions(actions)

    # -- session to widgets -----------------------------------------------------------------

    def _show_prompt(self) -> None:
        state = self._session.state
        self.editor.setVisible(not state.chat)
        self.chat.setVisible(state.chat)
        if state.chat:
            self.chat.set_blocks(state.blocks)
        else:
            self.editor.set_text(state.text)
        self._show_sources()
        if self._session.model is None:
            self._show_path()
        else:
            self._wait_for_ids()

    def _show_sources(self) -> None:
        blocks = self._session.state.blocks
        if self._session.state.chat:
            self.chat.set_blocks(blocks)
        else:
            self.editor.set_spans(joined_spans(blocks))
        self._place_sources()

    def _place_sources(self) -> None:
        """Which tokens of the prompt belong to which span."""
        session, vocabulary = self._session, self._session.vocabulary
        self._source_of = {}
        can_place = vocabulary is not None and session.is_ready
        self._placed_ids = session.state.prompt_ids if can_place else None
        if vocabulary is not None and can_place and has_sources(session.state.blocks):
            placed = place_spans(session.state.blocks, session.state.prompt_ids, vocabulary)
            for number, span in enumerate(placed.spans):
                self._source_of.update(dict.fromkeys(range(*span.tokens), number))
        self.view.viewport().update()

    def _wait_for_ids(self) -> None:
        """The ids of a new text are on their way: until then the old prompt stays on show."""
        self.view.set_tokens(self.view.ids[: self._shown_prompt], self.view.vocabulary)
        if not self._session.is_reading:
            self._stale.stop()
            self._show_stale()
        elif not self._stale.isActive():
            self._stale.start()

    def _show_path(self) -> None:
        session = self._session
        self.view.set_placeholder(self._placeholder())
        if session.model is not None and not session.is_ready:
            self._wait_for_ids()
            return
        self._stale.stop()
        # The text of a model that is gone stays readable, but faint: nothing can be done with it.
        self.view.set_stale(session.model is None)
        # A run only adds tokens: painting a full view again for each costs more than the model.
        self.view.set_tokens(session.ids, session.text_vocabulary, repaint=not session.is_running)
        self._shown_prompt = session.prompt_length
        if self._placed_ids is not session.state.prompt_ids:
            self._place_sources()
        self._show_selection()
        self._show_note()

    def _show_stale(self) -> None:
        self.view.set_stale(True)
        self.strip.say_reading()

    def _show_reading(self) -> None:
        """How far the model is, or why it does not read."""
        self.view.set_placeholder(self._placeholder())
        if self._session.model is not None and not self._session.is_ready:
            self._wait_for_ids()

    def _show_selection(self) -> None:
        session = self._session
        self.view.set_selected_position(None if session.follows_end else session.position)

    def _show_run(self) -> None:
        if self._session.is_running:
            self.view.scroll_to_end()

    def _placeholder(self) -> str:
        return self._session.reading.sentence(
            no_model=self.tr(
                "Open a model to see its tokens.\n"
                "Ctrl+O opens a file, Ctrl+L shows the models on this machine; or drop one here."
            ),
            empty=self.tr("Type a prompt above: its tokens appear here."),
        )

    def _show_note(self) -> None:
        session = self._session
        vocabulary = session.vocabulary
        trouble = None
        if vocabulary is not None and session.is_ready:
            trouble = bos_trouble(session.state.prompt_ids, vocabulary)
        if trouble is not None and vocabulary is not None and vocabulary.bos is not None:
            self._warn_of_bos(trouble, name_of(vocabulary, vocabulary.bos))
        elif not session.state.chat and not self.editor.is_exact:
            self.note.say(
                self.tr(
                    "The prompt has characters that an editor cannot keep, such as carriage "
                    "returns: they are sent as they are until you edit it."
                )
            )
        else:
            self.note.say("")

    def _warn_of_bos(self, trouble: BosTrouble, name: str) -> None:
        adds = self._session.state.add_special
        if trouble is BosTrouble.DOUBLED:
            sentence = self.tr("{0} stands twice in front: the text has one of its own.")
            remedy, call = self.tr("Leave one out"), lambda: self._set_bos(False)
        else:
            sentence = self.tr("{0} is missing in front: the model was trained with it.")
            remedy, call = self.tr("Put it there"), lambda: self._set_bos(True)
        can_mend = adds is (trouble is BosTrouble.DOUBLED)
        self.note.say(sentence.format(name), remedy, call if can_mend else None)

    # -- hooks of the view ------------------------------------------------------------------

    def _style_of(self, token: int) -> CellStyle:
        if self._overlay is not None and (style := self._overlay(token)) is not None:
            return style
        colors = theme.palette()
        vocabulary = self.view.vocabulary
        is_chip = vocabulary is not None and vocabulary.is_special(self.view.ids[token])
        step = self._session.document.step_at(token)
        if step is None:
            span = self._source_of.get(token)
            return CellStyle(None if span is None else source_tint(span), is_chip=is_chip)
        if step.origin is Origin.SAMPLED:
            return CellStyle(colors.generated_tint, is_chip=is_chip)
        second = Mark.UNDERLINE if step.origin is Origin.FORCED else Mark.DASHED
        return CellStyle(colors.forced_tint, mark=second, is_chip=is_chip)

    def _tooltip_of(self, token: int) -> str:
        vocabulary = self.view.vocabulary
        if vocabulary is None:
            return ""
        step = self._session.document.step_at(token)
        return tooltip(vocabulary, self.view.ids[token], token, step)

    # -- intents ----------------------------------------------------------------------------

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """A token was clicked and the person writes on: the tokens are no editor, but look as if
        they were one. "?" would open the commands."""
        written = self._written_by(event) if self.view.hasFocus() else ""
        if not written:
            super().keyPressEvent(event)
        elif self._session.state.chat:
            self.chat.type_at_end(written)
        else:
            self.editor.type_at_end(written)

    def _written_by(self, event: QKeyEvent) -> str:
        if event.matches(QKeySequence.StandardKey.Paste):
            return QGuiApplication.clipboard().text()
        return event.text() if is_writing(event) else ""

    def _take_text(self, text: str) -> None:
        self._session.set_blocks(edited(self._session.state.blocks, text))

    def _set_bos(self, adds: bool) -> None:
        state = self._session.state
        self._session.set_wrapping(
            chat=state.chat, add_special=adds, parse_special=state.parse_special
        )

    def _open_menu(self, position: int, where: QPoint) -> None:
        menu = self.token_menu.menu(position, self)
        self.export.add_to(menu)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.popup(where)
