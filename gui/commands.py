"""Everything the person can do from menu or keyboard, as one table."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from functools import partial

from PySide6.QtGui import QGuiApplication

from logitscope.gui import theme
from logitscope.gui.actions import CONTEXT, Command, Menu, Shell
from logitscope.gui.control_commands import DRAWING_COMMANDS, FIELD_COMMANDS
from logitscope.gui.panel_table import PANELS, PanelSpec
from logitscope.gui.session import Session
from logitscope.gui.settings import THEME, ZOOM
from logitscope.gui.source_commands import SOURCE_COMMANDS
from logitscope.gui.words import mark
from logitscope.navigation import Landmark

TEMPERATURE_STEP = 0.05
HIGHEST_TEMPERATURE = 10.0
CANDIDATES = 9
_SEEDS = 1_000_000
"""New seeds stay below: six figures can be read and typed again."""


# -- what they do -------------------------------------------------------------------------------


def stop(shell: Shell) -> None:
    shell.session.stop_all()


def change_temperature(direction: int, shell: Shell) -> None:
    now = shell.session.settings
    steps = round(now.temperature / TEMPERATURE_STEP) + direction
    temperature = min(HIGHEST_TEMPERATURE, max(0.0, round(steps * TEMPERATURE_STEP, 2)))
    shell.session.set_settings(replace(now, temperature=temperature))


def toggle_greedy(shell: Shell) -> None:
    now = shell.session.settings
    temperature = 0.0 if now.temperature > 0 else shell.warm_temperature
    shell.session.set_settings(replace(now, temperature=temperature))


def new_seed(shell: Shell) -> None:
    seed = random.SystemRandom().randrange(_SEEDS)
    shell.session.set_settings(replace(shell.session.settings, seed=seed))


def force_candidate(index: int, shell: Shell) -> None:
    """Put the token of rank ``index`` + 1 of the raw distribution at the selected position."""
    row = shell.session.row
    if row is not None and index < len(row.distribution):
        shell.session.force(int(row.distribution.top(index + 1)[index]))


def select(offset: int, shell: Shell) -> None:
    shell.session.select(shell.session.position + offset)


def zoom(change: int, shell: Shell) -> None:
    low, high = theme.ZOOM_LIMITS
    shell.settings.set(ZOOM, min(high, max(low, shell.settings.get(ZOOM) + change)))


def toggle_dark(shell: Shell) -> None:
    shell.settings.set(THEME, "light" if theme.is_dark() else "dark")


def copy_text(shell: Shell) -> None:
    """Prompt and generated text; bytes that are no character yet become U+FFFD."""
    session = shell.session
    generated = b""
    if session.vocabulary is not None:
        generated = session.vocabulary.text_bytes(session.document.tail_ids)
    text = session.state.text + generated.decode("utf-8", errors="replace")
    QGuiApplication.clipboard().setText(text)


# -- when they can be used ----------------------------------------------------------------------


def can_run(session: Session) -> bool:
    return session.model is not None and not session.is_running


def can_step(session: Session) -> bool:
    return session.steps.can_ask


def can_stop(session: Session) -> bool:
    return session.can_stop


def can_reload(session: Session) -> bool:
    return session.last_load is not None


def has_generated(session: Session) -> bool:
    return session.model is not None and bool(session.document.path)


def has_continuations(session: Session) -> bool:
    return session.state.count > 0


def can_force(session: Session) -> bool:
    row = session.row
    return row is not None and session.row_is_current and row.position >= session.prompt_length


def can_undo(session: Session) -> bool:
    return session.undo_stack.canUndo()


def can_redo(session: Session) -> bool:
    return session.undo_stack.canRedo()


def has_ids(session: Session) -> bool:
    return len(session.ids) > 1


def jump(landmark: Landmark, direction: int, shell: Shell) -> None:
    shell.session.jump(landmark, direction)


# -- the table ----------------------------------------------------------------------------------


def _text(text: str) -> str:
    return mark(CONTEXT, text)


_FILE = (
    Command("open_file", _text("Open model file…"), Menu.FILE, ("Ctrl+O",),
            lambda shell: shell.ask_for_file(),
            _text("Open a GGUF file."), "open", repeats=False),
    Command("open_folder", _text("Open model folder…"), Menu.FILE, ("Ctrl+Shift+O",),
            lambda shell: shell.ask_for_folder(),
            _text("Open a Hugging Face folder."), "folder", repeats=False),
    Command("open_options", _text("Open with options…"), Menu.FILE, ("Ctrl+Alt+O",),
            lambda shell: shell.ask_for_options(),
            _text("Choose context length, threads and backend, and see the memory it takes."),
            "settings", repeats=False),
    Command("library", _text("Models on this machine…"), Menu.FILE, ("Ctrl+L",),
            lambda shell: shell.show_library(),
            _text("Models that other programs have downloaded already."), "library",
            repeats=False),
    Command("train_bigram", _text("Train a bigram model…"), Menu.FILE, ("Ctrl+Shift+B",),
            lambda shell: shell.train_bigram(),
            _text("Train the simplest language model on a text, and use it in all panels."), "loss",
            repeats=False),
    Command("recent", _text("Recent models"), Menu.FILE, ("Ctrl+R",),
            lambda shell: shell.show_recent(),
            _text("Models opened before."), "model", repeats=False),
    Command("reload", _text("Load again"), Menu.FILE, ("Ctrl+Shift+R",),
            lambda shell: shell.session.reload_model(),
            _text("Load the last model again; the text stays."), "reload", can_reload,
            repeats=False),
    Command("new_session", _text("New session"), Menu.FILE, ("Ctrl+N",),
            lambda shell: shell.new_session(),
            _text("Begin with an empty text; the model stays."), "text", starts_group=True,
            repeats=False),
    Command("examples", _text("Examples…"), Menu.FILE, ("Ctrl+Shift+E",),
            lambda shell: shell.show_examples(),
            _text("Prompts to try, each with its sources, settings and panels."), "lessons",
            repeats=False),
    Command("open_session", _text("Open session…"), Menu.FILE, ("Ctrl+Alt+S",),
            lambda shell: shell.open_session(),
            _text("Open a saved text with its branches, settings and model."), "open",
            repeats=False),
    Command("save_session", _text("Save session"), Menu.FILE, ("Ctrl+S",),
            lambda shell: shell.save_session(),
            _text("Save the text with all its branches and settings."), "save", repeats=False),
    Command("save_session_as", _text("Save session as…"), Menu.FILE, ("Ctrl+Shift+S",),
            lambda shell: shell.save_session_as(),
            _text("Save under another name."), "save", repeats=False),
    Command("unsaved", _text("Unsaved sessions"), Menu.FILE, ("Ctrl+Alt+R",),
            lambda shell: shell.show_unsaved(),
            _text("Texts that were closed or replaced before they were saved; ten are kept."),
            "text", repeats=False),
    Command("settings", _text("Settings…"), Menu.FILE, ("Ctrl+,",),
            lambda shell: shell.show_settings(),
            _text("Colours, text size, run length, how models are loaded."), "settings",
            starts_group=True, repeats=False),
    Command("quit", _text("Quit"), Menu.FILE, ("Ctrl+Q",), lambda shell: shell.close(),
            _text("Close the window and end the model."), "quit", starts_group=True,
            repeats=False),
)  # fmt: skip

_EDIT = (
    Command("undo", _text("Undo"), Menu.EDIT, ("Ctrl+Z",), lambda shell: shell.session.undo(),
            _text("Take the last change back."), "undo", can_undo),
    Command("redo", _text("Redo"), Menu.EDIT, ("Ctrl+Shift+Z", "Ctrl+Y"),
            lambda shell: shell.session.redo(),
            _text("Make the change again."), "redo", can_redo),
    Command("copy_text", _text("Copy whole text"), Menu.EDIT, ("Ctrl+Shift+C",), copy_text,
            _text("Copy prompt and generated text."), "copy", starts_group=True, repeats=False),
    *SOURCE_COMMANDS,
    Command("exact_prompt", _text("What the model received…"), Menu.EDIT, ("Ctrl+E",),
            lambda shell: shell.show_exact_prompt(),
            _text("The exact text with its special tokens, and the ids."), "text", has_ids,
            repeats=False),
    Command("clear", _text("Clear continuations"), Menu.EDIT, ("Ctrl+Shift+Backspace",),
            lambda shell: shell.session.clear(),
            _text("Forget all generated text; the prompt stays."), "clear", has_continuations,
            starts_group=True, repeats=False),
)  # fmt: skip

_JUMPS = (
    (Landmark.SURPRISING, "next", 1, "F3", _text("Next surprising token"),
     _text("Go to the next token with a raw probability below 5 %.")),
    (Landmark.SURPRISING, "previous", -1, "Shift+F3", _text("Previous surprising token"),
     _text("Go to the token before with a raw probability below 5 %.")),
    (Landmark.OPEN, "next", 1, "F4", _text("Next open choice"),
     _text("Go to the next step at which 20 or more choices were open (exp of the entropy).")),
    (Landmark.OPEN, "previous", -1, "Shift+F4", _text("Previous open choice"),
     _text("Go to the step before at which 20 or more choices were open.")),
    (Landmark.PLACED, "next", 1, "Ctrl+F3", _text("Next forced token"),
     _text("Go to the next token that you forced or inserted.")),
    (Landmark.PLACED, "previous", -1, "Ctrl+Shift+F3", _text("Previous forced token"),
     _text("Go to the token before that you forced or inserted.")),
)  # fmt: skip

_GENERATE = (
    Command("step", _text("Step"), Menu.GENERATE, ("F10", "Ctrl+Right"),
            lambda shell: shell.session.step(),
            _text("Generate one token."), "step", can_step, bare_keys=("Right",),
            repeats_if=can_run),
    Command("run", _text("Run"), Menu.GENERATE, ("F5", "Ctrl+Return"),
            lambda shell: shell.run(),
            _text("Generate many tokens."), "run", can_run, repeats=False),
    Command("stop", _text("Stop"), Menu.GENERATE, ("Esc",), stop,
            _text("Stop what the model is doing; what was generated stays."), "stop", can_stop,
            repeats=False),
    Command("rewind", _text("Rewind one token"), Menu.GENERATE, ("F9", "Ctrl+Left"),
            lambda shell: shell.session.rewind_one(),
            _text("Take the last generated token back."), "rewind", has_generated,
            bare_keys=("Backspace",)),
    *(Command(f"force_{n}", _text(f"Candidate {n}"), Menu.GENERATE, (f"Alt+{n}",),
              partial(force_candidate, n - 1),
              _text(f"Put the token of rank {n} at the selected position."), "", can_force,
              submenu=_text("Force a token"), repeats=False)
      for n in range(1, CANDIDATES + 1)),
    Command("previous", _text("Select the token before"), Menu.GENERATE, ("Alt+Left",),
            partial(select, -1), _text("Look at the token before."), "previous", has_ids,
            starts_group=True),
    Command("next", _text("Select the token behind"), Menu.GENERATE, ("Alt+Right",),
            partial(select, 1), _text("Look at the token behind."), "next", has_ids),
    Command("follow", _text("Go to the end"), Menu.GENERATE, ("Alt+End",),
            lambda shell: shell.session.select(None),
            _text("Look at the next token again."), "", has_ids),
    *(Command(f"{way}_{landmark.value}", title, Menu.GENERATE, (key,),
              partial(jump, landmark, direction), tip, "", has_generated,
              submenu=_text("Jump"))
      for landmark, way, direction, key, title, tip in _JUMPS),
    Command("insert_text", _text("Insert text…"), Menu.GENERATE, ("Ctrl+I",),
            lambda shell: shell.insert_text(),
            _text("Put a text behind what is there, as tokens."), "", has_ids, repeats=False),
    Command("warmer", _text("Raise the temperature"), Menu.GENERATE, ("Alt+Up",),
            partial(change_temperature, 1),
            _text("Raise the temperature by 0.05."), "temperature", starts_group=True),
    Command("colder", _text("Lower the temperature"), Menu.GENERATE, ("Alt+Down",),
            partial(change_temperature, -1),
            _text("Lower the temperature by 0.05."), "temperature"),
    Command("greedy", _text("Greedy on or off"), Menu.GENERATE, ("Ctrl+G",), toggle_greedy,
            _text("Always take the likeliest token, or draw again."), "", repeats=False),
    Command("seed", _text("New seed"), Menu.GENERATE, ("Ctrl+D",), new_seed,
            _text("Choose another seed for the draws."), "dice"),
    *FIELD_COMMANDS,
)  # fmt: skip

_VIEW = (
    Command("dark", _text("Dark or light"), Menu.VIEW, ("Ctrl+Shift+D",), toggle_dark,
            _text("Change between dark and light colours."), "moon", starts_group=True,
            repeats=False),
    Command("larger", _text("Larger text"), Menu.VIEW, ("Ctrl++", "Ctrl+="), partial(zoom, 1),
            _text("Make all text larger.")),
    Command("smaller", _text("Smaller text"), Menu.VIEW, ("Ctrl+-",), partial(zoom, -1),
            _text("Make all text smaller.")),
    Command("usual_size", _text("Usual text size"), Menu.VIEW, ("Ctrl+0",),
            lambda shell: shell.settings.set(ZOOM, 0),
            _text("Use the system's text size."), repeats=False),
    *DRAWING_COMMANDS,
    Command("full_screen", _text("Full screen"), Menu.VIEW, ("F11",),
            lambda shell: shell.toggle_full_screen(),
            _text("Fill the screen, or stop doing so."), starts_group=True, repeats=False),
    Command("reset_layout", _text("Reset layout"), Menu.VIEW, ("Ctrl+Shift+L",),
            lambda shell: shell.reset_layout(),
            _text("Put all panels back in their places."), "panels", repeats=False),
)  # fmt: skip

_HELP = (
    Command("lessons", _text("Lessons"), Menu.HELP, ("Ctrl+F1",),
            lambda shell: shell.focus_panel("lessons"),
            _text("Learn how language models write, on the model that is loaded."), "lessons",
            repeats=False),
    Command("commands", _text("Commands and shortcuts"), Menu.HELP, ("F1", "Ctrl+Shift+P"),
            lambda shell: shell.show_commands(),
            _text("Everything there is, with its keys; search it and run it."), "help",
            bare_keys=("?",), repeats=False),
    Command("messages", _text("Messages"), Menu.HELP, ("Ctrl+Shift+M",),
            lambda shell: shell.show_messages(),
            _text("What the program has told you so far."), "messages", repeats=False),
    Command("about", _text("About Logitscope"), Menu.HELP, ("Shift+F1",),
            lambda shell: shell.show_about(),
            _text("Version and licence."), "info", starts_group=True, repeats=False),
)  # fmt: skip


def _for_panel(panel: PanelSpec) -> Iterator[Command]:
    yield Command(
        f"focus_{panel.id}",
        _text(f"Go to {panel.title}"),
        Menu.VIEW,
        (panel.focus_key,),
        lambda shell: shell.focus_panel(panel.id),
        _text(f"Put the keyboard into the panel {panel.title}."),
        panel.icon,
        submenu=_text("Go to"),
        repeats=False,
    )
    if panel.toggle_key:
        yield Command(
            f"toggle_{panel.id}",
            _text(f"Show or hide {panel.title}"),
            Menu.VIEW,
            (panel.toggle_key,),
            lambda shell: shell.toggle_panel(panel.id),
            _text(f"Show or hide the panel {panel.title}."),
            panel.icon,
            submenu=_text("Panels"),
            repeats=False,
        )


COMMANDS: tuple[Command, ...] = (
    *_FILE,
    *_EDIT,
    *_GENERATE,
    *(command for panel in PANELS for command in _for_panel(panel)),
    *_VIEW,
    *_HELP,
)
