"""Secrets in text are masked; what only looks a little like one is not."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neuron_observer.bundle.secrets import MASK, masked

SECRET = "s3cr3tV4lue"  # noqa: S105 - what a test plants
FORTY = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"  # as in AWS's own documentation


@pytest.mark.parametrize(
    "text",
    [
        f"AWS_SECRET_ACCESS_KEY={SECRET}",
        f"AWS_SESSION_TOKEN='{SECRET}'",
        f'"aws_secret_access_key": "{SECRET}"',
        f'{{"password":"{SECRET}","x":1}}',
        f"--password {SECRET} --lr 3",
        f"--hf-token={SECRET}",
        f"-H 'Authorization: Bearer {SECRET}'",
        f"Authorization: Basic {SECRET}==",
        f"https://alice:{SECRET}@repo.example/path",
        f"s3://bucket/x?X-Amz-Signature={SECRET}&y=1",
        f"api_key: {SECRET}",
        f"token={SECRET}",
        f"password: '{SECRET} with blanks'",
        f"-----BEGIN RSA PRIVATE KEY-----\n{SECRET}\n-----END RSA PRIVATE KEY-----",
        f"-----BEGIN PRIVATE KEY-----\n{SECRET}",
        f"ghp_{SECRET}{SECRET}",
        f"hf_{SECRET}",
        f"eyJhbGciOiJIUzI1NiJ9.{SECRET}.{SECRET}",
    ],
)
def test_masked(text: str) -> None:
    """Whatever stands around it."""
    told = masked(text)
    assert SECRET not in told
    assert MASK in told


@pytest.mark.parametrize(
    "secret",
    [FORTY, "AKIAIOSFODNN7EXAMPLE", "$2y$10$" + "abcdefghijklmnopqrstuv" + "A1b2" * 7 + "xyz"],
)
def test_masked_by_its_own_form(secret: str) -> None:
    """Keys and hashes need no name in front."""
    assert masked(f"found {secret} here") == f"found {MASK} here"


@pytest.mark.parametrize(
    "text",
    [
        "neuron:npid_attach: pid=40107, slot=0",
        "3,3,35226860791,-;NEURON_HW_ERR=SRAM_UNCORRECTABLE_ERROR nd-id=0 action=TERMINATE",
        "tokens=5 tokenizer=/x/y batch 3",
        "sha1 2fd4e1c67a2d28fced849ee1bb76e7391b93eb12",
        "devices/virtual/neuron_device/neuron0/neuron_core1/stats/status/success/total",
        "keys are 3; the key is under the mat",
    ],
)
def test_left_alone(text: str) -> None:
    """Lines of the driver, counts, hashes in hex, paths."""
    assert masked(text) == text


@settings(max_examples=80)
@given(st.text(max_size=200))
def test_masked_once_is_masked(text: str) -> None:
    """What was masked stays as it is."""
    assert masked(masked(text)) == masked(text)
