"""Advice says what to type in the framework that a program is written with, and nothing that the program does already."""

import importlib.util

import pytest

import harness

PROGRAM = harness.CASES / "frameworks.py"
NEEDS = {"transformers": "transformers", "checkpointed": "transformers", "trainer": "transformers",
         "diffusers": "diffusers", "accelerate": "accelerate", "lightning": "pytorch_lightning"}


def advised(kind, target, check="checkpoint-candidate"):
    if kind in NEEDS and importlib.util.find_spec(NEEDS[kind]) is None:
        pytest.skip(f"{NEEDS[kind]} is not installed")
    run = harness.record([harness.PYTHON, "-W", "ignore", PROGRAM, kind], target)
    assert run.code == 0, run.stderr
    value = harness.advise(target)
    fixes = [finding["fix"]["text"] for finding in value["findings"] if finding["check"] == check]
    return fixes, " ".join(left["remedy"] for left in value["advice"]["peak_after_all_by_category"])


@pytest.mark.sampled(3)
@pytest.mark.parametrize("kind, fix, remedy", [
    ("transformers", "model.gradient_checkpointing_enable(), about", "model.gradient_checkpointing_enable()"),
    ("trainer", "TrainingArguments(gradient_checkpointing=True), about", "TrainingArguments(bf16=True)"),
    ("diffusers", "model.enable_gradient_checkpointing(), about", "model.enable_gradient_checkpointing()"),
    ("accelerate", "torch.utils.checkpoint.checkpoint(", 'Accelerator(mixed_precision="bf16")'),
    ("lightning", "torch.utils.checkpoint.checkpoint(", 'Trainer(precision="bf16-mixed")')])
def test_advice_is_in_the_words_of_the_framework(kind, fix, remedy, target):
    fixes, remedies = advised(kind, target)
    assert any(text.startswith(fix) for text in fixes), fixes
    assert remedy in remedies


def test_a_checkpointed_model_is_not_told_to_checkpoint(target):
    fixes, remedies = advised("checkpointed", target)
    assert not any("gradient_checkpointing" in text for text in fixes), fixes
    assert "checkpoint" not in remedies


def test_attention_that_returns_its_weights_is_told_not_to(target):
    fixes, _ = advised("weights", target, "materialized-attention")
    assert [text for text in fixes if "need_weights=False" in text] == fixes != []
