"""Transformers' Trainer or TRL's SFTTrainer on a tiny model made here, with the hook's callback.

Nothing is downloaded. At the end each rank prints what its heartbeat file says of itself, as JSON.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
from pathlib import Path
from typing import Any

import torch
from datasets import Dataset
from tokenizers import Tokenizer, models, pre_tokenizers, trainers
from transformers import (
    LlamaConfig,
    LlamaForCausalLM,
    PreTrainedTokenizerFast,
    Trainer,
    TrainerCallback,
    TrainingArguments,
)

from neuron_observer import hook
from neuron_observer.parsers import heartbeat

SPECIAL = {"pad_token": "<pad>", "bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>"}
ROWS, LENGTH = 64, 32
COMMON = {
    "per_device_train_batch_size": 4,
    "per_device_eval_batch_size": 4,
    "report_to": [],
    "use_cpu": True,
    "logging_steps": 1000,
    "disable_tqdm": True,
}


class Saying(TrainerCallback):  # type: ignore[misc,unused-ignore]
    """Reads this rank's own heartbeat file when training ends, before the hook takes it away."""

    def on_train_end(self, *_: Any, **__: Any) -> None:
        """Print steps, pauses and tokens."""
        folder = Path(os.environ["NEURON_OBSERVER_HOOK_DIR"])
        (file,) = folder.glob(f"rank-{os.getpid()}-*.hb")
        raw = file.read_bytes()
        head = heartbeat.head(raw)
        if isinstance(head, str):
            raise SystemExit(head)
        steps = heartbeat.steps(raw, head)
        told = {
            "rank": head.rank,
            "phase": head.phase,
            "steps": head.steps,
            "pauses": head.pauses,
            "busy_known": sum(step.collectives == step.collectives for step in steps),  # not NaN
            "tokens": sorted({step.tokens for step in steps if step.tokens == step.tokens}),
        }
        print("heartbeat", json.dumps(told), flush=True)


def tokenizer() -> Any:
    """Of some 300 byte pairs, trained on one sentence."""
    plain = Tokenizer(models.BPE(unk_token=SPECIAL["unk_token"]))
    plain.pre_tokenizer = pre_tokenizers.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    words = list(SPECIAL.values())
    trainer = trainers.BpeTrainer(
        vocab_size=300, special_tokens=words, initial_alphabet=alphabet, show_progress=False
    )
    plain.train_from_iterator(["many ranks train one small model"], trainer)
    return PreTrainedTokenizerFast(tokenizer_object=plain, **SPECIAL)


def model(vocabulary: int) -> Any:
    """Two layers of random weights."""
    size = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2}
    heads = {"num_attention_heads": 2, "num_key_value_heads": 2}
    return LlamaForCausalLM(LlamaConfig(vocab_size=vocabulary, **size, **heads))


def by_trainer(given: dict[str, Any]) -> Any:
    """Rows of token ids."""
    ids = torch.arange(LENGTH) + 5
    rows = [{"input_ids": ids, "labels": ids, "attention_mask": torch.ones(LENGTH)}] * ROWS
    arguments = TrainingArguments(**given)
    return Trainer(model=model(300), args=arguments, train_dataset=rows, eval_dataset=rows[:8])


def by_sft(given: dict[str, Any]) -> Any:
    """Rows of text."""
    from trl import SFTConfig, SFTTrainer  # noqa: PLC0415 - slow to import

    words = tokenizer()
    rows = Dataset.from_list([{"text": "many ranks train one small model"}] * ROWS)
    return SFTTrainer(
        model=model(len(words)),
        args=SFTConfig(**given, bf16=False, max_length=LENGTH),
        train_dataset=rows,
        eval_dataset=rows.select(range(8)),
        processing_class=words,
    )


def main() -> None:
    """Train."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kind", choices=("trainer", "sft"))
    parser.add_argument("--steps", type=int, default=30)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        arguments = COMMON | {"output_dir": scratch, "max_steps": given.steps}
        arguments |= {"eval_strategy": "steps", "eval_steps": 10}
        arguments |= {"save_strategy": "steps", "save_steps": 20}
        trainer = (by_trainer if given.kind == "trainer" else by_sft)(arguments)
        trainer.add_callback(Saying())
        trainer.add_callback(hook.callback())
        trainer.train()


if __name__ == "__main__":
    main()
