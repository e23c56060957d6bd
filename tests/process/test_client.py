"""Client and child together, on the fake model."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from logitscope.backends.base import ChatMessage, LoadOptions
from logitscope.backends.fake import load as load_fake
from logitscope.backends.messages import (
    Channel,
    Ending,
    Evaluated,
    Failed,
    Finished,
    Phase,
    Progress,
    PromptText,
    Scored,
    Stepped,
    Tokenized,
)
from logitscope.sampling import SamplerSettings

FAKE = "fake:vocab=1000,seed=3,context=256"
GREEDY = SamplerSettings(temperature=0)


@pytest.fixture(scope="module")
def here():
    """The same model in this process: what the child computes can be computed directly."""
    return load_fake(Path(FAKE), LoadOptions())


def plain(text: str, **options: bool) -> PromptText:
    return PromptText((ChatMessage("user", text),), **options)


def test_loaded_tells_what_the_model_is(client, here) -> None:
    loaded = client.loaded(FAKE)
    assert loaded.number == 1
    assert loaded.info == here.info
    assert loaded.vocabulary.blob == here.vocabulary.blob


def test_evaluate_tokenizes_and_gives_the_row(shared_client, here) -> None:
    reply = shared_client.answer(shared_client.evaluate(plain("The sky is 中国")))
    assert reply.prompt_ids == tuple(
        here.tokenize("The sky is 中国", add_special=True, parse_special=False)
    )
    assert reply.rendered == "The sky is 中国"
    np.testing.assert_array_equal(
        shared_client.row(reply.row), here.next_logits(list(reply.prompt_ids))
    )


def test_evaluate_appends_the_tail_and_counts_what_it_reused(shared_client, here) -> None:
    first = shared_client.answer(shared_client.evaluate([1, 80, 81, 82]))
    reply = shared_client.answer(shared_client.evaluate(first.prompt_ids, [300, 301]))
    assert (reply.cached, reply.evaluated) == (4, 2)
    assert (reply.prompt_ids, reply.tail) == ((1, 80, 81, 82), (300, 301))
    assert reply.kv_bytes == 6 * here.info.kv_bytes_per_token
    np.testing.assert_array_equal(
        shared_client.row(reply.row), here.next_logits([1, 80, 81, 82, 300, 301])
    )


def test_a_chat_goes_through_the_template(shared_client, here) -> None:
    text = "<start_of_turn>user\nHi<end_of_turn>\n<start_of_turn>assistant\n"
    reply = shared_client.answer(shared_client.evaluate(plain("Hi", chat=True)))
    assert reply.rendered == text
    assert reply.prompt_ids == tuple(here.tokenize(text, add_special=True, parse_special=True))
    assert here.vocabulary.is_special(reply.prompt_ids[1])


def test_the_last_row_is_not_computed_twice(shared_client) -> None:
    first = shared_client.answer(shared_client.evaluate([1, 90, 91]))
    again = shared_client.answer(shared_client.evaluate([1, 90, 91], channel=Channel.INSPECT))
    assert (again.cached, again.evaluated) == (3, 0)
    assert again.channel is Channel.INSPECT
    np.testing.assert_array_equal(shared_client.row(again.row), shared_client.row(first.row))


def test_tokenize(shared_client, here) -> None:
    number = shared_client.tokenize("a <eos> b", parse_special=True)
    expected = here.tokenize("a <eos> b", add_special=False, parse_special=True)
    assert shared_client.answer(number) == Tokenized(number, tuple(expected))


def test_an_empty_prompt_is_a_sentence(shared_client) -> None:
    reply = shared_client.answer(shared_client.evaluate(plain("", add_special=False)))
    assert isinstance(reply, Failed)
    assert reply.expected
    assert "nothing to read" in reply.sentence


def test_a_prompt_longer_than_the_context_is_a_sentence(shared_client) -> None:
    reply = shared_client.answer(shared_client.evaluate([1] * 257))
    assert isinstance(reply, Failed)
    assert reply.expected
    assert "257" in reply.sentence
    shared_client.evaluated()


def test_the_ids_of_a_prompt_longer_than_the_context_are_known(shared_client, here) -> None:
    text = "long " * 100
    reply = shared_client.answer(shared_client.evaluate(plain(text), [300]))
    assert isinstance(reply, Failed)
    assert reply.prompt_ids == tuple(here.tokenize(text, add_special=True, parse_special=False))


def test_an_id_outside_the_vocabulary_is_a_bug_with_details(shared_client) -> None:
    reply = shared_client.answer(shared_client.evaluate([1, 5000]))
    assert isinstance(reply, Failed)
    assert not reply.expected
    assert "ValueError" in reply.detail
    shared_client.evaluated()


def test_generated_rows_and_numbers_belong_to_their_positions(shared_client, here) -> None:
    number = shared_client.generate([1, 70, 71], GREEDY, 6)
    end = shared_client.answer(number)
    steps = [r for r in shared_client.replies.of(number) if isinstance(r, Stepped)]
    ids = [1, 70, 71]
    for index, reply in enumerate(steps):
        row = here.next_logits(ids).astype(np.float64)
        assert reply.position == 3 + index == len(ids)
        if reply.row is not None:
            np.testing.assert_array_equal(shared_client.row(reply.row), row)
        assert reply.step.token_id == int(row.argmax())
        log_z = np.log(np.exp(row - row.max()).sum()) + row.max()
        assert reply.step.log_probability == pytest.approx(row.max() - log_z, abs=1e-5)
        assert reply.step.rank == 1
        ids.append(reply.step.token_id)
    assert len(steps) == 6
    assert steps[0].row is not None
    assert (end.ending, end.position) == (Ending.LENGTH, 9)
    np.testing.assert_array_equal(shared_client.row(end.row), here.next_logits(ids))


def test_the_same_seed_gives_the_same_ids(shared_client) -> None:
    def run(seed: int) -> list[int]:
        number = shared_client.generate([1, 70], SamplerSettings(temperature=1.2, seed=seed), 20)
        shared_client.answer(number)
        return [r.step.token_id for r in shared_client.replies.of(number)[:-1]]

    first = run(5)
    assert len(first) == 20
    assert run(5) == first
    assert run(6) != first


def test_score_numbers_belong_to_their_tokens(shared_client, here) -> None:
    ids = [1, *here.tokenize("The sky is blue and it is the sky.", add_special=False,
                             parse_special=False)]  # fmt: skip
    number = shared_client.score(ids, 1, len(ids))
    assert shared_client.answer(number) == Finished(number, Ending.DONE)
    chunks = [r for r in shared_client.replies.of(number) if isinstance(r, Scored)]
    assert chunks[0].start == 1
    logs = np.concatenate([c.log_probability for c in chunks])
    rows = np.stack([here.next_logits(ids[:p]) for p in range(1, len(ids))]).astype(np.float64)
    rows -= rows.max(axis=1, keepdims=True)
    expected = rows - np.log(np.exp(rows).sum(axis=1, keepdims=True))
    np.testing.assert_allclose(logs, expected[np.arange(len(logs)), ids[1:]], atol=1e-5)


@pytest.mark.parametrize(("length", "told"), [(30_000, 1), (300, 0)])
def test_a_long_text_is_told_of_before_it_is_cut_into_tokens(
    shared_client, length: int, told: int
) -> None:
    """Who is told that it is read can stop it; short ones take milliseconds."""
    number = shared_client.evaluate(plain("a " * (length // 2)))
    shared_client.answer(number)
    answers = [one for one in shared_client.replies.all if one.number == number]
    early = [one for one in answers if one == Progress(number, Phase.PREFILL, 0, 0)]
    assert len(early) == told
    assert answers[:told] == early


def test_progress_arrives_for_load_prefill_and_score(client) -> None:
    client.loaded("fake:load_ms=300,prefill_ms_per_token=1")
    client.answer(client.evaluate([1] * 200))
    client.answer(client.score([1] * 200, 1, 200))
    progress = [r for r in client.replies.all if isinstance(r, Progress)]
    assert {r.phase for r in progress} == {Phase.LOAD, Phase.PREFILL, Phase.SCORE}
    assert all(0 <= r.done <= r.total for r in progress)
    load = [r.done for r in progress if r.phase is Phase.LOAD]
    assert load == sorted(load)
    # 300 ms hold at most 7 replies 50 ms apart, however often the loader reports.
    assert 2 <= len(load) <= 8


def test_a_second_load_replaces_the_model(client, watch_end) -> None:
    client.loaded("fake:vocab=1000")
    ended = watch_end(client.pid)
    assert client.loaded("fake:vocab=2000").info.n_vocab == 2000
    assert ended.within(0)
    client.evaluated()


def test_open_requests_of_a_replaced_process_are_closed(client) -> None:
    client.loaded("fake:prefill_ms_per_token=5")
    generate = client.generate([1] * 400, GREEDY, 5)
    number = client.load("fake:vocab=2000")
    client.answer(number)
    assert client.replies.of(generate) == [Finished(generate, Ending.CANCELLED)]


def test_three_loads_at_once_leave_the_last(client) -> None:
    first, second, third = (client.load(f"fake:vocab={size}") for size in (500, 600, 700))
    assert client.answer(third).info.n_vocab == 700
    for number in (first, second):
        assert client.replies.of(number) == [Finished(number, Ending.CANCELLED)]


def test_without_a_model_a_request_fails(client) -> None:
    number = client.evaluate([1])
    assert isinstance(client.answer(number), Failed)


def test_a_load_that_fails_is_answered_and_can_be_followed_by_another(client, tmp_path) -> None:
    number = client.load(str(tmp_path / "nowhere.gguf"))
    reply = client.answer(number)
    assert isinstance(reply, Failed)
    assert reply.expected
    assert "nowhere.gguf" in reply.sentence
    late = client.evaluate([1])
    assert "No model is loaded" in client.answer(late).sentence
    client.loaded("fake:")
    client.evaluated()


def test_any_path_reaches_the_loader(client, tmp_path) -> None:
    folder = tmp_path / "mod èle 中国 🙂"
    folder.mkdir()
    reply = client.answer(client.load(str(folder)))
    assert isinstance(reply, Failed)
    assert "mod èle 中国 🙂" in reply.sentence


def test_an_exception_of_the_receiver_does_no_harm(client, caplog) -> None:
    client.loaded("fake:")
    calls = []

    def receiver(reply) -> None:
        calls.append(reply)
        client.replies(reply)
        raise RuntimeError("a bug of the window")

    client.close()
    other = type(client).__mro__[1](receiver)
    try:
        number = other.load("fake:")
        client.replies.closing(number)
        evaluation = other.evaluate([1, 2])
        assert isinstance(client.replies.closing(evaluation), Evaluated)
    finally:
        other.close()
    assert len(calls) >= 2
    assert "a bug of the window" in caplog.text


def test_the_child_has_no_qt(client) -> None:
    client.loaded("fake:")
    maps = Path(f"/proc/{client.pid}/maps").read_text()
    assert "numpy" in maps
    assert "Qt" not in maps
