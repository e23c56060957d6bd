"""The text: prompt above, tokens of prompt and continuation below."""

from __future__ import annotations

from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QLabel, QMenu, QVBoxLayout, QWidget

from logitscope.gui import theme
from logitscope.gui.panels.transport import Transport
from logitscope.gui.session import Session
from logitscope.gui.widgets.prompt_edit import PromptEdit
from logitscope.gui.widgets.token_painter import CellStyle, Mark
from logitscope.gui.widgets.token_tooltip import tooltip
from logitscope.gui.widgets.token_view import TokenView
from logitscope.steps import Origin


class TextPanel(QWidget):
    """Prompt editor, token view and transport."""

    HELP = (
        "Text",
        "Write a prompt above; below it stands what the model receives, one cell a token. "
        "Tokens on a tint were generated, underlined ones you forced, outlined ones are special "
        "or share one character. "
        "Click a token to see the distribution it was chosen from; double-click to rewind to it.",
    )

    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._session = session
        self.editor = PromptEdit(self)
        self.editor.setPlaceholderText(self.tr("Type a prompt, such as: The sky is"))
        self.editor.setAccessibleName(self.tr("Prompt"))
        self.note = QLabel(self)
        self.note.setWordWrap(True)
        self.view = TokenView(self)
        self.view.set_hooks(self._style_of, self._tooltip_of)
        self.transport = Transport(session, self)
        self._arrange()
        self._connect()
        self._show_prompt()
        self._show_path()

    def _arrange(self) -> None:
        column = QVBoxLayout(self)
        column.setContentsMargins(theme.GRID, theme.GRID, theme.GRID, theme.GRID)
        column.setSpacing(theme.GRID)
        column.addWidget(self.editor)
        column.addWidget(self.note)
        column.addWidget(self.view, 1)
        column.addWidget(self.transport)
        self.setFocusProxy(self.editor)

    def _connect(self) -> None:
        session = self._session
        self.editor.edited.connect(session.set_prompt)
        self.editor.undo_requested.connect(session.undo)
        self.editor.redo_requested.connect(session.redo)
        self.view.position_selected.connect(session.select)
        self.view.rewind_requested.connect(self._rewind)
        self.view.menu_requested.connect(self._open_menu)
        self.transport.marks_toggled.connect(self.view.set_marks)
        self.transport.ids_toggled.connect(self.view.set_shows_ids)
        session.prompt_changed.connect(self._show_prompt)
        session.path_changed.connect(self._show_path)
        session.model_changed.connect(self._show_path)
        session.selection_changed.connect(self._show_selection)
        session.run_changed.connect(self._show_run)

    # -- session to widgets -----------------------------------------------------------------

    def _show_prompt(self) -> None:
        self.editor.set_text(self._session.state.text)
        self._show_note()

    def _show_path(self) -> None:
        session = self._session
        self.view.set_tokens(session.ids, session.vocabulary, session.prompt_length)
        self._show_selection()
        self._show_note()

    def _show_selection(self) -> None:
        session = self._session
        self.view.set_selected_position(None if session.follows_end else session.position)

    def _show_run(self) -> None:
        self.view.set_sticks_to_end(self._session.is_running)

    def _show_note(self) -> None:
        text = self._note()
        self.note.setText(text)
        self.note.setVisible(bool(text))

    def _note(self) -> str:
        session = self._session
        if session.loading_path is not None:
            return self.tr("The model is being loaded.")
        if session.model is None:
            return self.tr("Open a model to see its tokens: Ctrl+O.")
        if not session.state.text and not session.ids:
            return self.tr("Type a prompt above to see what the model makes of it.")
        return ""

    # -- hooks ------------------------------------------------------------------------------

    def _style_of(self, token: int) -> CellStyle:
        session = self._session
        colors = theme.palette()
        step = session.document.step_at(token)
        ids, vocabulary = session.ids, session.vocabulary
        # Until the model has read a changed prompt, the tokens on show are older than the ids.
        is_chip = vocabulary is not None and token < len(ids) and vocabulary.is_special(ids[token])
        if step is None:
            return CellStyle(is_chip=is_chip)
        if step.origin is Origin.SAMPLED:
            return CellStyle(colors.generated_tint, is_chip=is_chip)
        mark = Mark.UNDERLINE if step.origin is Origin.FORCED else Mark.DASHED
        return CellStyle(colors.forced_tint, mark=mark, is_chip=is_chip)

    def _tooltip_of(self, token: int) -> str:
        session = self._session
        if session.vocabulary is None or token >= len(session.ids):
            return ""
        step = session.document.step_at(token)
        return tooltip(session.vocabulary, session.ids[token], token, step)

    # -- intents ----------------------------------------------------------------------------

    def _rewind(self, position: int) -> None:
        session = self._session
        if session.prompt_length <= position < len(session.ids):
            session.rewind_to(position)

    def _open_menu(self, position: int, where: QPoint) -> None:
        menu = self.menu(position)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.popup(where)

    def menu(self, position: int) -> QMenu:
        """What can be done at a token."""
        session = self._session
        menu = QMenu(self)
        can_rewind = session.prompt_length <= position < len(session.ids)
        rewind = menu.addAction(self.tr("Rewind to here"), lambda: self._rewind(position))
        rewind.setEnabled(can_rewind)
        menu.addSeparator()
        for title, call in (
            (self.tr("Copy text"), self.view.copy_text),
            (self.tr("Copy ids"), self.view.copy_ids),
            (self.tr("Copy bytes"), self.view.copy_bytes),
        ):
            action = QAction(title, menu)
            action.triggered.connect(call)
            action.setEnabled(bool(session.ids))
            menu.addAction(action)
        return menu
