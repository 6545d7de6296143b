"""Rollouts for trainers, of tags and of policies without words: who wrote which token."""

from __future__ import annotations

import inspect
import json
import re
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from conftest import require_module
from kgdx.episode import Kind
from kgdx.episode.conversation import spans
from kgdx.episode.policy import make_policy
from kgdx.episode.tag_protocol import ProtocolRules, RolloutSpan, read
from kgdx.errors import StoreError, UsageError
from kgdx.learn.recorded_cases import RecordedCases
from kgdx.llm.chat import Message, Request
from kgdx.llm.local_model import decoded
from kgdx.policies.tags import TagsPolicy
from kgdx_train.adversaries import SCRIPTS, Known
from kgdx_train.batch_model import BatchModel, check_tokenizer
from kgdx_train.rewards import EVEN, Scoring, greatest, least
from kgdx_train.rollouts import TagRollouts, graph_reward, rows, sampled, scored
from kgdx_train.tag_transcripts import (
    Transcripts,
    read_transcripts,
    verl_rows,
    write_transcripts,
    write_verl,
    written,
)
from kgdx_train.tool_environment import DiagnosisTools, tool_environment
from learn.conftest import EPILEPSY, EPILEPSY_NAME, SEIZURE, STATURE_NAME
from llm.test_local_model import TEMPLATE, made

KNOWN = Known(EPILEPSY_NAME, STATURE_NAME, ("Seizure", "Status epilepticus"))


@pytest.fixture(scope="module")
def torch() -> Any:
    for name in ("torch", "transformers"):
        require_module(name, "train")
    import torch

    torch.set_num_threads(1)
    return torch


@pytest.fixture(scope="module")
def tokenizer(torch: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    from transformers import AutoTokenizer

    return AutoTokenizer.from_pretrained(made(tmp_path_factory.mktemp("model"), torch))


def Reciter(torch: Any, tokenizer: Any, parts: list[str]) -> Any:
    """A network that writes a script, one token after the other, behind as many acts as its text has."""
    from transformers import LlamaConfig, LlamaForCausalLM
    from transformers.modeling_outputs import CausalLMOutputWithPast

    class Reciting(LlamaForCausalLM):
        def prepare_inputs_for_generation(self, input_ids: Any, attention_mask: Any = None, **_: Any) -> Any:
            return {"input_ids": input_ids, "attention_mask": attention_mask}

        def forward(self, input_ids: Any, attention_mask: Any = None, **_: Any) -> Any:
            attention_mask = torch.ones_like(input_ids) if attention_mask is None else attention_mask
            logits = torch.zeros(len(input_ids), 1, len(tokenizer))
            for row, (ids, mask) in enumerate(zip(input_ids, attention_mask, strict=True)):
                text = decoded(tokenizer, ids[mask.bool()].tolist())
                logits[row, 0, following(text.partition("<assistant>")[2])] = 100.0
            return CausalLMOutputWithPast(logits=logits)

    def following(text: str) -> int:
        for part in parts:
            if not text.startswith(part):
                left = tokenizer(part[len(text) :], add_special_tokens=False)["input_ids"]
                return int(left[0]) if part.startswith(text) else 1
            block = re.match(r"\n<(\w+)>.*?</\1>\n", text[len(part) :], re.DOTALL)
            text = text[len(part) + (block.end() if block else 0) :]
        return 1

    small = {"hidden_size": 8, "intermediate_size": 8, "num_hidden_layers": 1, "num_attention_heads": 1}
    return Reciting(LlamaConfig(vocab_size=len(tokenizer), max_position_embeddings=100_000, eos_token_id=1, **small))


def trainer(model: Any, tokenizer: Any, temperature: float = 0.0) -> Any:
    return SimpleNamespace(
        accelerator=SimpleNamespace(unwrap_model=lambda given: given),
        model=model,
        processing_class=tokenizer,
        args=SimpleNamespace(temperature=temperature),
        state=SimpleNamespace(global_step=0, max_steps=10),
    )


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_a_rollout_is_the_log_in_tokens_and_what_the_environment_wrote_is_masked(
    ward: RecordedCases, torch: Any, tokenizer: Any
) -> None:
    parts = SCRIPTS["honest"](KNOWN)
    rollouts = TagRollouts(ward)
    [row] = rows(ward, ["one"])
    found = rollouts([row["prompt"]], trainer(Reciter(torch, tokenizer, parts), tokenizer))
    [ids], [mask], [logprobs] = found["completion_ids"], found["env_mask"], found["logprobs"]
    assert len(ids) == len(mask) == len(logprobs)
    own = decoded(tokenizer, [id for id, mine in zip(ids, mask, strict=True) if mine])
    assert own == "".join(parts)
    given = decoded(tokenizer, [id for id, mine in zip(ids, mask, strict=True) if not mine])
    assert given.strip().startswith("<refer>") and given.strip().endswith("</result>")
    assert all(value == 0 for value, mine in zip(logprobs, mask, strict=True) if not mine)
    prompt = tokenizer.decode(found["prompt_ids"][0])
    assert "Seizure" in prompt and "PMID" not in prompt and EPILEPSY_NAME not in prompt
    assert graph_reward(**found) == [pytest.approx(greatest(EVEN))]


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_rollouts_that_wait_are_one_batch_and_equal_to_single_ones(
    ward: RecordedCases, torch: Any, tokenizer: Any
) -> None:
    parts = SCRIPTS["wrong"](KNOWN)
    policy = TagsPolicy(top=0, explain=0)
    together, alone = (BatchModel(Reciter(torch, tokenizer, parts), tokenizer) for _ in range(2))
    ids = ["one", "two", "one"]
    logs = [each.log for each in TagRollouts(ward).run(together, policy, ids)]
    assert together.batches == [3]
    single = TagRollouts(ward)
    assert [single.run(alone, policy, [id])[0].log for id in ids] == logs
    assert sampled(logs)["prompt_ids"][0] == sampled(logs)["prompt_ids"][2]


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_a_model_that_writes_at_random_gets_the_least_and_its_tokens_are_all_its_own(
    ward: RecordedCases, torch: Any, tokenizer: Any, tmp_path: Path
) -> None:
    from transformers import AutoModelForCausalLM

    model = AutoModelForCausalLM.from_pretrained(made(tmp_path, torch))
    model.config.max_position_embeddings = 4_096
    rollouts = TagRollouts(ward, TagsPolicy(top=0, max_tokens=12), context=4_096)
    prompts = [row["prompt"] for row in rows(ward, ["one", "one"])]
    found = rollouts(prompts, trainer(model, tokenizer, temperature=1.0))
    assert found["reward"] == [least(EVEN)] * 2
    assert all(0 < len(each) <= 12 for each in found["completion_ids"])
    assert found["completion_ids"][0] != found["completion_ids"][1]  # each rollout has a seed of its own
    assert all(value < 0 for each in found["logprobs"] for value in each)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_what_is_longer_than_the_context_is_said_in_one_line(ward: RecordedCases, torch: Any, tokenizer: Any) -> None:
    model = BatchModel(Reciter(torch, tokenizer, ["x"]), tokenizer, context=8)
    [found] = model.sampled([Request((Message("user", "longer than that"),))])
    assert "reads 8 tokens, and this is" in str(found)
    with pytest.raises(UsageError, match="no tokens of the model: shorten"):
        sampled([TagRollouts(ward, context=8).run(model, TagsPolicy(), ["one"])[0].log])


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_a_tokenizer_that_does_not_do_is_refused(torch: Any, tmp_path: Path, tokenizer: Any) -> None:
    from transformers import AutoTokenizer

    check_tokenizer(tokenizer)
    bare = AutoTokenizer.from_pretrained(made(tmp_path / "bare", torch))
    bare.chat_template = None
    with pytest.raises(UsageError, match="has no chat template"):
        check_tokenizer(bare)
    special = AutoTokenizer.from_pretrained(made(tmp_path / "special", torch, template=TEMPLATE))
    special.add_special_tokens({"additional_special_tokens": ["</match>"]})
    with pytest.raises(UsageError, match="the tag </match> is a special token"):
        check_tokenizer(special)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_a_prompt_that_names_no_case_is_refused(ward: RecordedCases) -> None:
    with pytest.raises(UsageError, match="no case 'nobody'"):
        rows(ward, ["nobody"])
    with pytest.raises(UsageError, match="a prompt names no case"):
        TagRollouts(ward)(
            ["one"], trainer(SimpleNamespace(config=None), SimpleNamespace(chat_template="x", all_special_tokens=[]))
        )


def tools(ward: RecordedCases, **how: Any) -> DiagnosisTools:
    return tool_environment(ward, Scoring(**how))()


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_the_tools_act_on_the_graph_and_the_reward_is_the_logs(ward: RecordedCases) -> None:
    env = tools(ward)
    assert "Seizure" in env.reset(case="one", prompt="ignored")
    assert "Seizure" in env.lookup([EPILEPSY_NAME])
    assert EPILEPSY_NAME in env.match(["Seizure", "Status epilepticus"])
    assert "refused" not in env.search(["tiny epilepsy"])
    assert env.diagnose([EPILEPSY_NAME]) == "the diagnosis is taken"
    assert env.get_reward() == pytest.approx(greatest(EVEN))
    assert spans(env.log) == []


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_a_reset_leaves_nothing_behind(ward: RecordedCases) -> None:
    env = tools(ward)
    env.reset(case="one")
    fresh = env.log
    env.match(["Seizure"])
    env.diagnose([EPILEPSY_NAME])
    env.reset(case="one")
    assert env.log == fresh and env.get_reward() == least(EVEN)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_each_public_method_is_a_tool_with_a_schema(ward: RecordedCases) -> None:
    require_module("transformers", "train")
    from transformers.utils import get_json_schema

    env = tools(ward)
    names = [name for name, _ in inspect.getmembers(type(env), predicate=inspect.isfunction) if name[0] != "_"]
    assert names == ["diagnose", "get_reward", "lookup", "match", "reset", "search"]
    for name in ("diagnose", "lookup", "match", "search"):
        schema = get_json_schema(getattr(env, name))["function"]
        assert schema["description"] and all(
            each["description"] for each in schema["parameters"]["properties"].values()
        )


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_a_call_against_the_rules_says_why_and_is_malformed(ward: RecordedCases) -> None:
    def refused(message: str, call: str, *given: Any) -> None:
        env = tools(ward)
        env.reset(case="one")
        with pytest.raises(UsageError, match=message):
            getattr(env, call)(*given)
        assert env.log[-1].kind is Kind.WISH
        env.diagnose([EPILEPSY_NAME])
        assert env.get_reward() == least(EVEN)

    refused("lookup names 11, 10 at most", "lookup", [f"disease {n}" for n in range(11)])
    refused("diagnose names 6, 5 at most", "diagnose", [f"disease {n}" for n in range(6)])
    refused("match names nothing", "match", [" "])
    refused("search takes a list of names", "search", "epilepsy")
    refused("the graph knows none of these diseases", "diagnose", ["no such"])
    env = tools(ward)
    with pytest.raises(UsageError, match="call reset first"):
        env.lookup(["x"])
    with pytest.raises(UsageError, match="the row names no case"):
        env.reset(prompt="x")
    env.reset(case="one")
    env.lookup([EPILEPSY_NAME])
    with pytest.raises(UsageError, match="lookup can be done 1 times"):
        env.lookup([STATURE_NAME])
    env.diagnose([EPILEPSY_NAME])
    with pytest.raises(UsageError, match="the episode has ended"):
        env.match(["Seizure"])


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_an_episode_of_any_face_is_scored_alike(ward: RecordedCases) -> None:
    env = tools(ward)
    env.reset(case="one")
    env.diagnose([STATURE_NAME])
    other = replace(ward, known=1)
    assert scored(other, env._now).value == env.get_reward()


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_a_finding_of_a_patient_that_is_nearest_to_several_is_named_once(ward: RecordedCases) -> None:
    tools = tool_environment(ward)()
    tools.reset(case="three")
    for line in tools.match(["HP:0001250", "HP:0007359", "HP:0002133"]).splitlines():
        named = line.partition(": ")[2].split(", ")
        assert named and len(named) == len(set(named))


POLICY = TagsPolicy(top=0, explain=0)


@pytest.mark.parametrize("notation", ["tags", "calls"])
@pytest.mark.parametrize("policy", ["fixed", "rounds"])
def test_a_transcript_keeps_to_the_protocol_and_its_answers_are_the_graphs(
    ward: RecordedCases, policy: str, notation: Any
) -> None:
    model = POLICY.model_copy(update={"notation": notation})
    for row in Transcripts(ward, make_policy(policy), model).all(ward.ids):
        text = [RolloutSpan(each["text"], each["own"]) for each in row["completion"]]
        found = read(text)
        assert found.violations == () and found.acts[-1].tag == "diagnose" and row["reward"] > 0
        assert not text[1].own and "</" in text[1].text
        assert [each["role"] for each in row["prompt"]] == ["system", "user"]
        assert "PMID" not in json.dumps(row)


def test_a_transcript_is_as_good_as_what_its_policy_declares(ward: RecordedCases) -> None:
    row = Transcripts(ward, make_policy("fixed"), POLICY).of("one")
    own = "".join(each["text"] for each in row["completion"] if each["own"])
    assert f"\\textbf{{{EPILEPSY_NAME}}}" in own and "<match>Seizure, Status epilepticus</match>" in own
    few = POLICY.model_copy(update={"rules": ProtocolRules(matches=0, searches=0, declared=1)})
    short = Transcripts(ward, make_policy("fixed"), few).of("one")
    assert len(short["completion"]) == 1 and short["reward"] < row["reward"]


def test_names_with_commas_stay_names() -> None:
    for act in ("lookup", "match", "diagnose"):
        [block] = read([RolloutSpan(written(act, [EPILEPSY_NAME], "tags"), True)]).acts
        assert [each.text for each in block.items] == [EPILEPSY_NAME]


def test_a_file_of_transcripts_is_read_back_and_what_is_none_is_refused(ward: RecordedCases, tmp_path: Path) -> None:
    file = tmp_path / "t.jsonl"
    rows = list(Transcripts(ward, make_policy("fixed"), POLICY).all(ward.ids))
    assert write_transcripts(rows, file) == 4 and read_transcripts(file, "tags") == rows
    odd = [{**rows[0], "completion": [{"text": "one\u2028two\u0085three", "own": True}]}]
    assert write_transcripts(odd, file) == 1 and read_transcripts(file, "tags") == odd
    worse = [{**rows[0], "reward": 0.0}, *rows[1:]]
    assert write_transcripts(worse, file, least=min(row["reward"] for row in rows)) == 3
    assert read_transcripts(file, "tags") == rows[1:]
    with pytest.raises(UsageError, match="holds transcripts in tags, the run is in calls"):
        read_transcripts(file, "calls")
    file.write_text("{}\n")
    with pytest.raises(UsageError, match="cannot be read as transcripts"):
        read_transcripts(file, "tags")
    file.write_text("")
    with pytest.raises(UsageError, match="holds no transcripts"):
        read_transcripts(file, "tags")
    with pytest.raises(StoreError, match="cannot be written"):
        write_transcripts(rows, tmp_path / "nowhere" / "t.jsonl")


def test_rows_for_verl_name_the_case_and_what_is_right(ward: RecordedCases, tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    assert write_verl(verl_rows(ward, ward.ids, POLICY), tmp_path / "rows.parquet") == 4
    row = pq.read_table(tmp_path / "rows.parquet").to_pylist()[0]
    assert set(row) == {"data_source", "prompt", "ability", "reward_model", "extra_info"}
    assert EPILEPSY in json.loads(row["reward_model"]["ground_truth"])["ids"]
    assert row["extra_info"]["case"] == "one" and row["extra_info"]["index"] == 0
    prompt = "".join(each["content"] for each in row["prompt"])
    assert "Seizure" in prompt and EPILEPSY_NAME not in prompt and SEIZURE not in prompt
