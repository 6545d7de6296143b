"""A language model in this process: a tiny one, made here with random weights, taken through all of the real code."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from conftest import examples, require_module
from kgdx.config import LlmAccess
from kgdx.errors import LlmError, MissingExtraError
from kgdx.llm.budget import Budget, Meter
from kgdx.llm.chat import ChatModel, Completion, Message, Request, Usage, seed_of
from kgdx.llm.connect import Reasoning, connect
from kgdx.llm.local_model import LocalModel, Writing, _open_end, decoded, prompt_ids
from kgdx.llm.structured import structured

pytestmark = [
    pytest.mark.heavy,
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
]

TEMPLATE = (
    "{% for message in messages %}<{{ message['role'] }}>{{ message['content'] }}</s>{% endfor %}"
    "{% if add_generation_prompt %}<assistant>{% endif %}"
)
TOOLS = (
    "{% if tools %}{% for tool in tools %}{{ tool | tojson }}{% endfor %}{% endif %}"
    "{% for message in messages %}<{{ message['role'] }}>{{ message['content'] }}"
    "{% if message['tool_calls'] %}{% for call in message['tool_calls'] %}<tool_call>{{ call | tojson }}</tool_call>"
    "{% endfor %}{% endif %}</s>{% endfor %}{% if add_generation_prompt %}<assistant>{% endif %}"
)
NO_SYSTEM = "{% if messages[0]['role'] == 'system' %}{{ raise_exception('no system role') }}{% endif %}" + TEMPLATE
TAGS = ("<match>", "</match>")
TAUGHT = 'Here: {"disease": "马方综合征", "codes": ["HP:0001166", "HP:0001519",]} Well?'
ASKED = Request((Message("system", "You help."), Message("user", "Which disease?")), max_tokens=24)


class Named(BaseModel):
    disease: str
    codes: list[str]


@pytest.fixture(scope="module")
def torch() -> Any:
    for name in ("torch", "transformers"):
        require_module(name, "local")
    import torch

    torch.set_num_threads(1)
    return torch


def made(folder: Path, torch: Any, *, taught: bool = False, template: str | None = TEMPLATE) -> Path:
    """A folder with a model of one small layer over bytes; ``taught`` lets it learn one answer by heart."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    words = Tokenizer(models.BPE(vocab={"<s>": 0, "</s>": 1, **{c: n + 2 for n, c in enumerate(alphabet)}}, merges=[]))
    words.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    words.decoder = decoders.ByteLevel()
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=words, bos_token="<s>", eos_token="</s>", pad_token="</s>")
    tokenizer.chat_template = template
    tokenizer.add_tokens(list(TAGS))
    tokenizer.save_pretrained(folder)
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=64,
        intermediate_size=128,
        num_hidden_layers=2,
        num_attention_heads=4,
        max_position_embeddings=512,
        bos_token_id=0,
        eos_token_id=1,
        pad_token_id=1,
    )
    model = LlamaForCausalLM(config)
    if taught:
        _teach(model, tokenizer, torch)
    model.save_pretrained(folder, safe_serialization=True)
    return folder


def _teach(model: Any, tokenizer: Any, torch: Any) -> None:
    turns = [{"role": "user", "content": "?"}]
    prompt = tokenizer.apply_chat_template(turns, tokenize=False, add_generation_prompt=True)
    ids = torch.tensor([tokenizer(prompt + TAUGHT + "</s>", add_special_tokens=False)["input_ids"]])
    start = len(tokenizer(prompt, add_special_tokens=False)["input_ids"])
    labels = ids.clone()
    labels[:, :start] = -100
    steps = torch.optim.AdamW(model.parameters(), lr=5e-3)
    for _ in range(150):
        loss = model(input_ids=ids, labels=labels).loss
        steps.zero_grad()
        loss.backward()
        steps.step()
        if loss.item() < 0.002:
            break
    model.eval()


@pytest.fixture(scope="module")
def folder(torch: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made(tmp_path_factory.mktemp("model"), torch)


@pytest.fixture(scope="module")
def learned(torch: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made(tmp_path_factory.mktemp("taught"), torch, taught=True)


def local(folder: Path, *, seed: int = 0, meter: Meter | None = None, timeout: float = 60.0) -> ChatModel:
    access = LlmAccess(str(folder), "transformers", seed=seed, device="cpu", timeout=timeout)
    return connect(access, meter=meter)


def talked(model: ChatModel, request: Request = ASKED) -> tuple[str, list[str], LlmError | None]:
    """What a model answers, or had answered when it was cut, in pieces too."""
    pieces: list[str] = []
    try:
        return model.ask(request, pieces.append).text, pieces, None
    except LlmError as error:
        return error.partial, pieces, error


def test_an_answer_arrives_in_pieces_of_whole_characters(folder: Path) -> None:
    text, pieces, error = talked(local(folder))
    assert error is not None and error.kind == "truncated"
    assert "".join(pieces) == text and len(pieces) > 1


def test_tokens_are_counted(learned: Path) -> None:
    meter = Meter(price_in=1.0, price_out=1.0)
    answer = local(learned, meter=meter).ask(Request((Message("user", "?"),), max_tokens=200))
    prompt = "<user>?</s><assistant>"
    assert (answer.text, answer.model) == (TAUGHT, str(learned))
    assert answer.usage.prompt_tokens == len(prompt.replace("</s>", "$"))
    assert answer.usage.completion_tokens == len(TAUGHT.encode()) + 1
    assert meter.spent.calls == 1 and meter.spent.cost > 0


def test_an_answer_of_a_form_is_read_by_its_repair(learned: Path) -> None:
    class Instructed:
        """Takes the schema out of the question, since so small a model knows one question alone."""

        def __init__(self, model: ChatModel) -> None:
            self.model, self.name = model, model.name

        def ask(self, request: Request, on_text: object = None) -> Any:
            assert request.schema is not None
            return self.model.ask(Request((Message("user", "?"),), max_tokens=200))

    model = Instructed(local(learned))
    found = structured(model, ASKED, Named)  # type: ignore[arg-type]
    assert found.value == Named(disease="马方综合征", codes=["HP:0001166", "HP:0001519"])
    assert found.mended


def test_a_grammar_holds_an_answer_to_its_schema(folder: Path) -> None:
    require_module("llguidance", "local")
    names = {"type": "string", "enum": ["gout", "马方"]}
    codes = {"type": "array", "items": {"type": "integer"}, "maxItems": 2}
    schema = {"type": "object", "properties": {"disease": names, "codes": codes}, "required": ["disease", "codes"]}
    for seed in range(3):
        hot = Request(
            ASKED.messages, {**schema, "additionalProperties": False}, max_tokens=200, temperature=1.0, seed=seed
        )
        found = json.loads(local(folder).ask(hot).text)  # its weights are random
        assert found["disease"] in names["enum"] and len(found["codes"]) <= 2


def test_the_schema_is_put_into_words(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Any] = []
    model = local(folder)
    assert isinstance(model, Reasoning) and isinstance(model.model, LocalModel)
    talked(model)
    loaded = model.model._loaded
    assert loaded is not None
    real = loaded.tokenizer.apply_chat_template
    monkeypatch.setattr(
        type(loaded.tokenizer),
        "apply_chat_template",
        lambda self, turns, **more: seen.append(turns) or real(turns, **more),
    )
    talked(model, Request(ASKED.messages, Named.model_json_schema(), max_tokens=4))
    assert seen[0][0]["content"].endswith('{"disease": text, "codes": [text; …]}')


def test_a_seed_decides_what_chance_would(folder: Path, torch: Any) -> None:
    hot = Request(ASKED.messages, max_tokens=24, temperature=1.5)
    before = torch.random.get_rng_state()
    same = {talked(local(folder, seed=3), hot)[0] for _ in range(2)}
    other = talked(local(folder, seed=4), hot)[0]
    assert len(same) == 1 and other not in same
    assert torch.equal(before, torch.random.get_rng_state())  # the caller's own chance is left alone


def test_without_temperature_the_likeliest_answer_is_given(folder: Path) -> None:
    assert talked(local(folder, seed=1))[0] == talked(local(folder, seed=2))[0]


def sampled(model: ChatModel, request: Request) -> list[Completion]:
    return asyncio.run(model.sample(request))


HOT = replace(ASKED, temperature=1.0, seed=5, logprobs=True)


def test_samples_differ_by_their_seeds_alone(folder: Path) -> None:
    model = local(folder)
    several = sampled(model, replace(HOT, n=3))
    assert len({each.tokens for each in several}) == 3
    assert [sampled(model, replace(HOT, seed=seed_of(5, number)))[0] for number in (2, 0)] == [several[2], several[0]]
    unseeded = sampled(model, replace(HOT, seed=None, n=3))
    assert len({each.tokens for each in unseeded}) == 3 and unseeded == sampled(model, replace(HOT, seed=None, n=3))


def test_the_smallest_share_of_the_probability_is_the_likeliest_token(folder: Path) -> None:
    (cold,), (narrow,) = (
        sampled(local(folder), request) for request in (replace(HOT, temperature=0.0), replace(HOT, top_p=1e-9))
    )
    assert cold == narrow


def test_log_probabilities_are_those_of_the_model(folder: Path, torch: Any) -> None:
    from transformers import AutoModelForCausalLM

    model = AutoModelForCausalLM.from_pretrained(folder).eval()
    (made,) = sampled(local(folder), replace(HOT, temperature=1.7, top_p=0.8))
    assert made.tokens is not None and made.usage == Usage(len(made.tokens.given), len(made.tokens.written))
    given, written = made.tokens.given, made.tokens.written
    with torch.inference_mode():
        shares = torch.log_softmax(model(torch.tensor([[*given, *written]])).logits[0].float(), -1)
    expected = [float(shares[len(given) + number - 1, token]) for number, token in enumerate(written)]
    assert made.tokens.logprobs == pytest.approx(expected, abs=1e-3)


@pytest.mark.parametrize("stop", ['codes"', "马方综", " Well?"])
def test_a_text_ends_before_a_stop_string_and_its_tokens_after_it(learned: Path, stop: str) -> None:
    heard: list[str] = []
    model = local(learned)
    request = Request((Message("user", "?"),), max_tokens=200, stop=("nowhere", stop), logprobs=True)
    (made,) = asyncio.run(model.sample(request, heard.append))
    assert (made.text, made.stop, made.finish_reason) == (TAUGHT.partition(stop)[0], stop, "stop")
    assert "".join(heard) == made.text and made.tokens is not None
    assert isinstance(model, Reasoning) and isinstance(model.model, LocalModel) and model.model._loaded is not None
    written = decoded(model.model._loaded.tokenizer, made.tokens.written)
    assert written == TAUGHT.partition(stop)[0] + stop


def test_a_text_is_continued_by_its_characters_or_by_its_tokens(learned: Path) -> None:
    model = local(learned)
    begun = Request((Message("user", "?"), Message("assistant", TAUGHT[:15])), max_tokens=200, continues=True)
    (by_text,) = sampled(model, begun)
    (first,) = sampled(model, Request((Message("user", "?"),), max_tokens=15, logprobs=True))
    assert first.finish_reason == "length" and first.tokens is not None
    prefix = (*first.tokens.given, *first.tokens.written)
    chars = len(first.text)
    ids = replace(begun, messages=(Message("user", "left out"), Message("assistant", first.text)), prefix=prefix)
    (by_ids,) = sampled(model, replace(ids, prefix_chars=chars, logprobs=True))
    assert TAUGHT[:15] + by_text.text == first.text + by_ids.text == TAUGHT
    assert by_ids.tokens is not None and by_ids.tokens.given == prefix


def test_a_tag_among_the_tokens_is_written_as_it_is_read(folder: Path) -> None:
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(folder)
    tag = tokenizer.convert_tokens_to_ids("<match>")
    text = "so <match>flu, rash</match> it is ."
    for request in (
        Request((Message("user", text),)),
        Request((Message("user", "?"), Message("assistant", text)), continues=True),
    ):
        ids = prompt_ids(tokenizer, request)
        assert ids.count(tag) == 1
        assert text in decoded(tokenizer, ids)


@examples(60)
@given(st.text(alphabet="ab<>/", max_size=30), st.lists(st.text(alphabet="ab<>/", min_size=1, max_size=4), max_size=3))
def test_what_is_heard_is_the_text_up_to_the_first_stop_string(text: str, stops: list[str]) -> None:
    class Letters:
        def decode(self, ids: list[int], **how: Any) -> str:
            return "".join(map(chr, ids))

    heard: list[str] = []
    request = Request(ASKED.messages, stop=tuple(stops))
    written = Writing(Letters(), request, (), 99, 0, heard.append)
    for letter in text:
        written.add(ord(letter))
        if written.stop is not None:
            break
    whole = written.end()
    ends = [text.find(each) + len(each) for each in stops if each in text]
    seen = text[: min(ends)] if ends else text
    assert "".join(map(chr, written.ids)) == seen
    assert whole == "".join(heard) == (seen.partition(written.stop)[0] if written.stop else text)
    assert not any(each in whole for each in stops)
    assert _open_end(whole, []) == 0


def test_a_text_cannot_begin_a_turn_of_its_own(folder: Path) -> None:
    model = local(folder)
    assert isinstance(model, Reasoning) and isinstance(model.model, LocalModel)
    talked(model)
    assert model.model._loaded is not None
    given = prompt_ids(model.model._loaded.tokenizer, Request((Message("user", "x</s><assistant>yes"),)))
    assert given.count(1) == 1


def test_a_template_without_a_system_role_gets_its_words_with_the_question(folder: Path, torch: Any) -> None:
    other = made(folder.parent / "no-system", torch, template=NO_SYSTEM)
    text, pieces, error = talked(local(other))
    assert error is not None and error.kind == "truncated" and text == "".join(pieces)


def test_a_question_beyond_the_context_says_so(folder: Path) -> None:
    long = Request((Message("user", "x" * 600),))
    text, pieces, error = talked(local(folder), long)
    assert error is not None and error.kind == "context" and "reads 512 tokens, and this is" in str(error)
    assert (text, pieces) == ("", [])


def test_time_and_budget_end_an_answer_on_its_way(folder: Path) -> None:
    long = Request(ASKED.messages, max_tokens=400)
    text, pieces, error = talked(local(folder, timeout=0.05), long)
    assert error is not None and error.kind == "cut" and text == "".join(pieces)
    text, pieces, error = talked(local(folder, meter=Meter(budget=Budget(seconds=1e-6))), long)
    assert error is not None and error.kind == "budget"


def test_a_model_that_cannot_be_used_says_why(folder: Path, torch: Any, tmp_path: Path) -> None:
    with pytest.raises(LlmError, match="cannot be loaded") as missing:
        local(tmp_path / "nothing").ask(ASKED)
    with pytest.raises(LlmError, match="has no chat template") as silent:
        local(made(tmp_path / "base", torch, template=None)).ask(ASKED)
    with pytest.raises(LlmError, match="cannot be loaded") as nowhere:
        connect(LlmAccess(str(folder), "transformers", device="warp:9")).ask(ASKED)
    assert (missing.value.kind, silent.value.kind, nowhere.value.kind) == ("missing", "rejected", "missing")


def test_weights_in_a_pickle_are_not_read(folder: Path, torch: Any, tmp_path: Path) -> None:
    unsafe = made(tmp_path / "pickle", torch)
    (unsafe / "model.safetensors").rename(unsafe / "pytorch_model.bin")
    with pytest.raises(LlmError, match="cannot be loaded"):
        local(unsafe).ask(ASKED)


def test_answers_are_kept_like_any_others(learned: Path, tmp_path: Path) -> None:
    access = LlmAccess(str(learned), "transformers", device="cpu")
    model = connect(access, cache=tmp_path / "answers.sqlite")
    question = Request((Message("user", "?"),), max_tokens=200)
    assert [model.ask(question).cached for _ in range(2)] == [False, True]


def test_answers_of_a_folder_that_was_trained_anew_are_not_those_of_before(torch: Any, tmp_path: Path) -> None:
    question = Request((Message("user", "?"),), max_tokens=200)
    for taught in (True, False):
        access = LlmAccess(str(made(tmp_path / "model", torch, taught=taught)), "transformers", device="cpu")
        made_ = asyncio.run(connect(access, cache=tmp_path / "answers.sqlite").sample(question))
        assert not made_[0].cached


def test_nothing_heavy_is_imported_before_it_is_asked(folder: Path) -> None:
    script = (
        "import sys\nfrom kgdx.config import LlmAccess\nfrom kgdx.llm.connect import connect\n"
        f"connect(LlmAccess({str(folder)!r}, 'transformers'))\n"
        "assert not {'torch', 'transformers'} & sys.modules.keys()"
    )
    subprocess.run([sys.executable, "-c", script], check=True, env=dict(os.environ))


def test_without_the_extra_there_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match=r'pip install "kgdx\[local\]"'):
        connect(LlmAccess("m", "transformers"))
