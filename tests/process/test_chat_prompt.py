"""A chat as the model receives it: the template's own text, each mark one token, BOS once."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from logitscope.backends.base import ChatMessage, LoadOptions
from logitscope.backends.messages import Evaluated, Loaded, PromptText

pytestmark = pytest.mark.torch
CHAT = (
    ChatMessage("system", "Be brief."),
    ChatMessage("user", "Is <think>this</think> hidden?"),
    ChatMessage("tool", '{"found": 1}'),
)


@pytest.mark.parametrize("model", ["tiny_hf", pytest.param("tiny_gguf", marks=pytest.mark.llama)])
def test_the_rendered_chat_is_that_of_transformers_and_has_one_bos(
    request: pytest.FixtureRequest, tiny_hf: Path, new_asker: Callable[[], Any], model: str
) -> None:
    transformers = pytest.importorskip("transformers", reason="the extra `torch` is not installed")
    if model == "tiny_gguf":
        pytest.importorskip("llama_cpp", reason="the extra `llama` is not installed")
    tokenizer = transformers.AutoTokenizer.from_pretrained(tiny_hf, local_files_only=True)
    expected = tokenizer.apply_chat_template(
        [{"role": m.role, "content": m.content} for m in CHAT],
        add_generation_prompt=True,
        tokenize=False,
    )
    asker = new_asker()
    try:
        path = str(request.getfixturevalue(model))
        number = asker.load(path, options=LoadOptions(device="cpu", threads=1))
        loaded = asker.replies.closing(number, 120.0)
        assert isinstance(loaded, Loaded), loaded
        reply = asker.answer(asker.evaluate(PromptText(CHAT, chat=True, add_special=True)))
    finally:
        asker.close()
    assert isinstance(reply, Evaluated), reply
    assert reply.rendered == expected
    assert "<think>this</think>" in reply.rendered
    # The template writes BOS itself: none is added, and none is missing.
    assert expected.startswith(tokenizer.bos_token)
    assert reply.prompt_ids.count(tokenizer.bos_token_id) == 1
    assert list(reply.prompt_ids) == tokenizer(expected, add_special_tokens=False)["input_ids"]
