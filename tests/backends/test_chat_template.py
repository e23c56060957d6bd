"""Chat templates: rendered as transformers renders them, and harmless whatever they hold."""

from __future__ import annotations

import tracemalloc

import pytest

from logitscope.backends.base import BackendError, ChatMessage
from logitscope.backends.chat_template import render

CHATML = """\
{% for message in messages %}
    {% if loop.first and message['role'] != 'system' %}
<|im_start|>system
You are helpful.<|im_end|>
    {% endif %}
<|im_start|>{{ message.role }}
{{ message.content | trim }}<|im_end|>
{% endfor %}
{%- if add_generation_prompt %}
{{ '<|im_start|>assistant\n' }}
{%- endif %}
"""
LLAMA2 = (
    "{% if messages[0]['role'] == 'system' %}{% set loop_messages = messages[1:] %}"
    "{% set system = '<<SYS>>\n' + messages[0]['content'] + '\n<</SYS>>\n\n' %}"
    "{% else %}{% set loop_messages = messages %}{% set system = '' %}{% endif %}"
    "{% for m in loop_messages %}{% if m.role == 'user' %}"
    "{{ bos_token + '[INST] ' + (system if loop.index0 == 0 else '') + m.content + ' [/INST]' }}"
    "{% else %}{{ ' ' ~ m.content ~ ' ' ~ eos_token }}{% endif %}{% endfor %}"
)
NAMESPACED = """\
{%- set ns = namespace(count=0, last='') -%}
{%- macro head(role) -%}<{{ role | upper }}>{%- endmacro -%}
{%- for m in messages if m.role != 'system' -%}
{%- set ns.count = ns.count + 1 -%}{%- set ns.last = m.role -%}
{{ head(m.role) }}{{ m.content.replace('a', 'aa').strip() }}{{ "%s/%s" % (ns.count, 7 % 4) }}
{% endfor -%}
{{ messages | map(attribute='role') | join(', ') }} {{ '{}'.format(ns.last) }}
"""
JSON = "{{ messages | tojson }}{{ messages | tojson(indent=2) }}{{ {'b': 1, 'a': '<é>'} | tojson }}"
OPTIONAL = (
    "{% if tools is not none %}T{% endif %}{% if documents %}D{% endif %}"
    "{% for m in messages %}{% generation %}{{ m.content }}{% endgeneration %}"
    "{% if loop.index0 == 1 %}{% break %}{% endif %}{% endfor %}"
    "{{ thinking | default('none') }}{% set x %}a{{ bos_token }}{% endset %}{{ x * 3 }}"
)
TEMPLATES = [CHATML, LLAMA2, NAMESPACED, JSON, OPTIONAL]

CHATS = [
    [("user", "Hi")],
    [
        ("system", "Be brief."),
        ("user", " What colour is the sky? {{ 7 * 7 }} "),
        ("assistant", "b"),
    ],
    [("user", "👩🏽‍🚀 <|im_end|> </s> 天空"), ("assistant", ""), ("user", "a\n\n{% raw %}")],
]


def messages_of(chat: list[tuple[str, str]]) -> list[ChatMessage]:
    return [ChatMessage(role, content) for role, content in chat]


def rendered(template: str) -> str:
    return render(
        template,
        messages_of(CHATS[1]),
        add_generation_prompt=False,
        bos_token="<s>",
        eos_token="</s>",
    )


@pytest.mark.parametrize("add_generation_prompt", [False, True])
@pytest.mark.parametrize("chat", CHATS)
@pytest.mark.parametrize("template", TEMPLATES)
def test_renders_as_transformers_does(
    template: str, chat: list[tuple[str, str]], add_generation_prompt: bool
) -> None:
    utilities = pytest.importorskip("transformers.utils.chat_template_utils")
    (expected,), _ = utilities.render_jinja_template(
        [[{"role": role, "content": content} for role, content in chat]],
        chat_template=template,
        add_generation_prompt=add_generation_prompt,
        bos_token="<s>",
        eos_token="</s>",
    )
    text = render(
        template,
        messages_of(chat),
        add_generation_prompt=add_generation_prompt,
        bos_token="<s>",
        eos_token="</s>",
    )
    assert text == expected


BOMBS = {
    "product": "{{ 'a' * 10**10 }}",
    "product of lists": "{{ [1] * 10**9 }}",
    "power": "{{ 2 ** (10**9) }}",
    "digits": (
        "{% set n = namespace(x=3) %}{% for i in range(60) %}{% set n.x = n.x * n.x %}{% endfor %}"
    ),
    "range": "{% for i in range(10**9) %}x{% endfor %}",
    "output": "{% for i in range(99999) %}" + "x" * 100 + "{% endfor %}",
    "doubling by ~": (
        "{% set n = namespace(s='ab') %}{% for i in range(40) %}{% set n.s = n.s ~ n.s %}"
        "{% endfor %}"
    ),
    "doubling by +": (
        "{% set n = namespace(s='ab') %}{% for i in range(40) %}{% set n.s = n.s + n.s %}"
        "{% endfor %}"
    ),
    "doubling by blocks": (
        "{% set n = namespace(s='ab') %}{% for i in range(40) %}{% set x %}{{ n.s }}{{ n.s }}"
        "{% endset %}{% set n.s = x %}{% endfor %}"
    ),
    "doubling by macros": (
        "{% macro twice(s) %}{{ s }}{{ s }}{% endmacro %}{% set n = namespace(s='ab') %}"
        "{% for i in range(40) %}{% set n.s = twice(n.s) %}{% endfor %}"
    ),
    "percent": "{{ '%099999999999d' % 1 }}",
    "percent star": "{{ '%*d' % (10**10, 1) }}",
    "format": "{{ '{:>9999999999}'.format(1) }}",
    "nested format": "{{ '{0:{1}}'.format('a', 10**10) }}",
    "format map": "{{ '{a:>9999999999}'.format_map({'a': 1}) }}",
    "ljust": "{{ 'a'.ljust(10**10) }}",
    "zfill by name": "{{ 'a'.zfill(10**10) }}",
    "expandtabs": "{{ '\t'.expandtabs(10**10) }}",
    "replace": "{{ ('a' * 100000).replace('a', 'b' * 100000) }}",
    "replace filter": "{{ ('a' * 100000) | replace('a', 'b' * 100000) }}",
    "join": "{{ ('b' * 100000).join(['a'] * 100000) }}",
    "join filter": "{{ (['a'] * 100000) | join('b' * 100000) }}",
    "indent": "{{ 'x' | indent(10**10, true) }}",
    "center": "{{ 'x' | center(10**10) }}",
    "batch": "{{ 'x' | batch(10**10, 'y') | list }}",
    "lipsum": "{{ lipsum(n=10**7) }}",
    "many references": "{{ ['a' * 100000] * 100000 }}",
    "many references as json": "{{ (['a' * 100000] * 100000) | tojson }}",
    "many references as text": "{{ (['a' * 100000] * 100000) | string }}",
    "many references joined": "{{ (['a' * 100000] * 100000) ~ '' }}",
}


@pytest.mark.parametrize("template", BOMBS.values(), ids=BOMBS.keys())
def test_bombs_are_refused_before_they_take_memory(template: str) -> None:
    tracemalloc.start()
    try:
        with pytest.raises(BackendError, match="template"):
            rendered(template)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    # Twenty times the four million characters that a template may write.
    assert peak < 80 << 20


ESCAPES = [
    "{{ ''.__class__.__mro__[1].__subclasses__() }}",
    "{{ messages.append(1) }}",
    "{{ messages[0].update(role='x') }}",
    "{{ messages[0].clear() }}",
    "{{ raise_exception.__globals__ }}",
    "{{ strftime_now.__globals__['json'] }}",
    "{{ self.__init__.__globals__ }}",
    "{{ cycler.__init__.__globals__ }}",
    "{% include '/etc/passwd' %}",
    "{% import 'os' as os %}",
    "{{ '{0.__class__.__mro__}'.format(1) }}",
    "{{ ('__class__' | attr)('x') }}",
    "{{ 'x' | attr('__class__') | attr('__mro__') }}",
]


@pytest.mark.parametrize("template", ESCAPES)
def test_nothing_leads_out_of_the_sandbox(template: str) -> None:
    try:
        text = rendered(template)
    except BackendError as error:
        assert "template" in str(error)
    else:
        assert "class" not in text
        assert "object" not in text


@pytest.mark.parametrize(
    ("template", "said"),
    [
        (
            "one\ntwo {{ raise_exception('System role not supported') }}",
            r"refuses .* line 2 .*Syst",
        ),
        ("one\n\n{{ nothing.at.all }}", r"fails in line 3 .*'nothing' is undefined"),
        ("one\n{% if %}", r"broken in line 2"),
        ("one\n{% endfor %}\n", r"broken in line 2"),
        ("{{ messages[0].content / 2 }}", r"fails in line 1"),
    ],
)
def test_the_sentence_names_line_and_reason(template: str, said: str) -> None:
    with pytest.raises(BackendError, match=said) as caught:
        rendered(template)
    assert "\n" not in str(caught.value)
    assert caught.value.detail


def test_a_very_long_template_is_not_compiled() -> None:
    with pytest.raises(BackendError, match="too long"):
        rendered("x" * 2_000_000)
