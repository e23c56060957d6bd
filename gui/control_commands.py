"""Commands that take the keyboard to one control, and switches of what is drawn."""

from __future__ import annotations

from functools import partial

from logitscope.gui.actions import CONTEXT, Command, Menu, Shell, always
from logitscope.gui.session import Session
from logitscope.gui.settings import BARS, IDS, MARKS, Setting
from logitscope.gui.words import mark

BAR_STEP = 5


def focus_control(panel_id: str, path: str, shell: Shell) -> None:
    shell.focus_control(panel_id, path)


def change_bars(change: int, shell: Shell) -> None:
    count = shell.settings.get(BARS) + change
    shell.settings.set(BARS, min(BARS.high, max(BARS.low, count)))


def toggle(setting: Setting[bool], shell: Shell) -> None:
    shell.settings.set(setting, not shell.settings.get(setting))


def has_template(session: Session) -> bool:
    return session.model is not None and session.model.has_chat_template


def has_bos(session: Session) -> bool:
    return session.vocabulary is not None and session.vocabulary.bos is not None


def reads_text(session: Session) -> bool:
    """A template puts its special tokens itself."""
    return not session.state.chat


def toggle_wrapping(switch: str, shell: Shell) -> None:
    """Change one of the three switches of how the prompt becomes ids."""
    state = shell.session.state
    switches = {name: getattr(state, name) for name in ("chat", "add_special", "parse_special")}
    shell.session.set_wrapping(**switches | {switch: not switches[switch]})


def draws(session: Session) -> bool:
    """Greedy takes the likeliest token, whatever the stages behind the penalties say."""
    return not session.settings.greedy


def _text(text: str) -> str:
    return mark(CONTEXT, text)


_SUBMENU = _text("Set")

_FIELDS = (
    ("temperature", _text("Set temperature"), "Alt+Shift+T", "sampling",
     "controls.temperature.box", always,
     _text("Type a temperature; 0 is greedy, and more than 2 is possible.")),
    ("top_k", _text("Set top-k"), "Alt+Shift+K", "sampling", "controls.top_k.box", draws,
     _text("Type how many of the likeliest tokens are kept; 0 keeps all.")),
    ("top_p", _text("Set top-p"), "Alt+Shift+P", "sampling", "controls.top_p.box", draws,
     _text("Type the probability that the tokens kept hold together; 1 keeps all.")),
    ("min_p", _text("Set min-p"), "Alt+Shift+M", "sampling", "controls.min_p.box", draws,
     _text("Type the share of the likeliest token's probability that is kept; 0 keeps all.")),
    ("typical_p", _text("Set typical"), "Alt+Shift+Y", "sampling", "controls.typical_p.box",
     draws, _text("Type the probability that tokens near the entropy hold; 1 keeps all.")),
    ("seed", _text("Set seed"), "Alt+Shift+S", "sampling", "seed", always,
     _text("Type the seed of the draws.")),
    ("run_length", _text("Set tokens per run"), "Alt+Shift+R", "text", "transport.length", always,
     _text("Type how many tokens Run generates.")),
    ("stop_text", _text("Set stop text"), "Alt+Shift+E", "text", "transport.stop_text", always,
     _text("Type the text at which a run ends.")),
)  # fmt: skip

FIELD_COMMANDS = tuple(
    Command(f"set_{name}", title, Menu.GENERATE, (key,), partial(focus_control, panel_id, path),
            tip, "", enabled, submenu=_SUBMENU, repeats=False)
    for name, title, key, panel_id, path, enabled, tip in _FIELDS
)  # fmt: skip

DRAWING_COMMANDS = (
    Command("more_bars", _text("More bars"), Menu.VIEW, ("Alt++", "Alt+="),
            partial(change_bars, BAR_STEP),
            _text("Give five more of the likeliest tokens a bar of their own."),
            starts_group=True),
    Command("fewer_bars", _text("Fewer bars"), Menu.VIEW, ("Alt+-",),
            partial(change_bars, -BAR_STEP),
            _text("Give five tokens fewer a bar of their own.")),
    Command("marks", _text("Whitespace marks"), Menu.VIEW, ("Alt+Shift+W",),
            partial(toggle, MARKS),
            _text("Mark whitespace and invisible characters in the tokens, or stop doing so."),
            repeats=False),
    Command("ids", _text("Token ids"), Menu.VIEW, ("Alt+Shift+I",), partial(toggle, IDS),
            _text("Show ids below the tokens, or hide them."), repeats=False),
    Command("chat", _text("Chat template"), Menu.VIEW, ("Alt+Shift+C",),
            partial(toggle_wrapping, "chat"),
            _text("Put the model's own chat template around the prompt, or take it off."), "",
            has_template, repeats=False),
    Command("bos", _text("Token of the beginning"), Menu.VIEW, ("Alt+Shift+B",),
            partial(toggle_wrapping, "add_special"),
            _text("Begin with the token that the model was trained to begin with, or do not."),
            "", has_bos, repeats=False),
    Command("special", _text("Written special tokens"), Menu.VIEW, ("Alt+Shift+N",),
            partial(toggle_wrapping, "parse_special"),
            _text("Read special tokens that are written out, such as <eos>, as tokens, or as "
                  "plain text."),
            "", reads_text, repeats=False),
)  # fmt: skip
