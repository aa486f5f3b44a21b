"""One exception class per error code."""

from __future__ import annotations

import pickle

import pytest
from kio.schema.errors import ErrorCode as KioErrorCode

from doorkeeper.client import errors
from doorkeeper.client.errors import (
    KafkaError,
    NotControllerError,
    RequestTimedOutError,
    ResourceIdentifierTooLargeError,
    UnknownCodeError,
    error_for,
    raise_for,
)
from doorkeeper.errors import DoorkeeperError
from doorkeeper.rules.codes import ErrorCode

KAFKA_CODES = [code for code in KioErrorCode if code is not KioErrorCode.none]


@pytest.mark.parametrize("code", KAFKA_CODES, ids=lambda code: code.name)
def test_every_code_of_kafka_has_a_class(code: KioErrorCode) -> None:
    error = error_for(int(code))
    assert error is not None
    assert (error.code, error.name.lower(), error.retriable) == (int(code), code.name, code.retriable)
    assert error.message


def test_no_two_codes_share_a_class() -> None:
    classes = {type(error_for(int(code))) for code in KAFKA_CODES}
    assert len(classes) == len(KAFKA_CODES)


def test_every_code_of_the_rulebook_has_a_class() -> None:
    for code in ErrorCode:
        error = error_for(code)
        assert code == 0 or (error is not None and error.name == code.name)


def test_the_new_code_is_134_and_is_not_retried() -> None:
    error = error_for(134, "group id too long")
    assert type(error) is ResourceIdentifierTooLargeError
    assert not error.retriable
    assert str(error) == "RESOURCE_IDENTIFIER_TOO_LARGE (134): group id too long"


def test_zero_is_no_error() -> None:
    assert error_for(0, "whatever") is None
    raise_for(0, "whatever")


def test_an_unknown_code_keeps_its_number_and_is_not_retried() -> None:
    error = error_for(999)
    assert isinstance(error, UnknownCodeError)
    assert (error.unknown_code, error.retriable) == (999, False)
    assert "999" in str(error)
    assert pickle.loads(pickle.dumps(error)).unknown_code == 999


def test_without_a_message_kafkas_own_sentence_is_said() -> None:
    with pytest.raises(NotControllerError, match="This is not the correct controller for this cluster"):
        raise_for(41)


def test_an_empty_message_stays_empty() -> None:
    error = error_for(42, "")
    assert error is not None
    assert error.message == ""


def test_the_family_has_one_root() -> None:
    assert issubclass(KafkaError, DoorkeeperError)
    assert issubclass(RequestTimedOutError, KafkaError)


def test_names_are_those_of_kafkas_exceptions() -> None:
    classes = [value for value in vars(errors).values() if isinstance(value, type) and issubclass(value, KafkaError)]
    for kind in classes:
        expected = kind.java_name.removesuffix("Exception") + "Error"
        special = {"TimeoutError": "RequestTimedOutError"}  # not to hide Python's own
        if kind not in (KafkaError, UnknownCodeError):
            assert kind.__name__ == special.get(expected, expected)
