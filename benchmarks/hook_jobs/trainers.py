"""Transformers' Trainer or TRL's SFTTrainer on a tiny model made up here: nothing is downloaded.

Started by torchrun, as train.py. With `--callback` the script hands over the hook's callback.
"""

from __future__ import annotations

import argparse
import glob
import json
import os
import shutil
import sys
import tempfile
from typing import Any

import torch
import torch.distributed as dist
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
from trl import SFTConfig, SFTTrainer

SPECIAL = ("<unk>", "<pad>", "<s>", "</s>")
TEXT = "the quick brown fox jumps"


def model() -> Any:
    """Two layers, 109 thousand parameters."""
    torch.manual_seed(0)
    return LlamaForCausalLM(
        LlamaConfig(
            vocab_size=300,
            hidden_size=64,
            intermediate_size=128,
            num_hidden_layers=2,
            num_attention_heads=4,
            num_key_value_heads=2,
            max_position_embeddings=256,
            pad_token_id=1,
            bos_token_id=2,
            eos_token_id=3,
        )
    )


def tokenizer() -> Any:
    """Made of one sentence."""
    made = Tokenizer(models.BPE(unk_token="<unk>"))  # noqa: S106 - no secret
    made.pre_tokenizer = pre_tokenizers.ByteLevel()
    made.train_from_iterator(
        [TEXT] * 20,
        trainers.BpeTrainer(
            vocab_size=300,
            special_tokens=list(SPECIAL),
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        ),
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=made,
        **dict(zip(("unk_token", "pad_token", "bos_token", "eos_token"), SPECIAL, strict=True)),
    )


class Keep(TrainerCallback):  # type: ignore[misc,unused-ignore]
    """Copies the heartbeat file as it is after the last step."""

    def __init__(self, folder: str) -> None:
        self._folder = folder

    def on_step_end(self, _args: Any, state: Any, _control: Any, **_: Any) -> None:
        """After others were told of it, if they came first."""
        where = os.environ.get("NEURON_OBSERVER_HOOK_DIR", "")
        for path in glob.glob(f"{where}/rank-{os.getpid()}-*.hb"):  # noqa: PTH207 - one at most
            if state.global_step == state.max_steps:
                shutil.copy(path, f"{self._folder}/{os.environ['RANK']}.hb")


def main() -> None:
    """One rank, from begin to end."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("style", choices=("trainer", "sft"))
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--keep", required=True)
    parser.add_argument("--callback", action="store_true")
    given = parser.parse_args()
    callbacks: list[Any] = []
    if given.callback:
        from neuron_observer import hook  # noqa: PLC0415 - only then

        callbacks.append(hook.callback())
    callbacks.append(Keep(given.keep))
    options: dict[str, Any] = {
        "max_steps": given.steps, "per_device_train_batch_size": 4, "report_to": [],
        "use_cpu": True, "bf16": False, "save_strategy": "steps", "save_steps": 15,
        "eval_strategy": "steps", "eval_steps": 10, "disable_tqdm": True, "logging_steps": 1000,
    }  # fmt: skip
    with tempfile.TemporaryDirectory() as out:
        if given.style == "trainer":
            rows = [dict.fromkeys(("input_ids", "labels"), torch.arange(4, 36))] * 512
            made = Trainer(
                model=model(), args=TrainingArguments(output_dir=out, **options),
                train_dataset=rows, eval_dataset=rows[:8], callbacks=callbacks,
            )  # fmt: skip
        else:
            texts = Dataset.from_list([{"text": TEXT}] * 512)
            made = SFTTrainer(
                model=model(), args=SFTConfig(output_dir=out, max_length=64, **options),
                train_dataset=texts, eval_dataset=texts.select(range(8)),
                processing_class=tokenizer(), callbacks=callbacks,
            )  # fmt: skip
        made.train()
        rank = int(os.environ["RANK"])
        result = repr(sum(p.double().sum().item() for p in made.model.parameters()))
        sys.stdout.write("\n" + json.dumps({"rank": rank, "result": result}) + "\n")
        sys.stdout.flush()
        dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
