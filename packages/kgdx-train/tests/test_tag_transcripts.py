"""Transcripts of a policy without words are rollouts of the protocol; a model is warmed up on what it is to write."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kgdx.episode.policy import make_policy
from kgdx.episode.tag_protocol import ProtocolRules, RolloutSpan, read
from kgdx.errors import StoreError, UsageError
from kgdx.learn.recorded_cases import RecordedCases
from kgdx.policies.tags import TagsPolicy
from kgdx_train.tag_transcripts import (
    Transcripts,
    read_transcripts,
    verl_rows,
    write_transcripts,
    write_verl,
    written,
)
from learn.conftest import EPILEPSY, EPILEPSY_NAME, SEIZURE

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
