"""The names that `doorkeeper` promises."""

import pytest

import doorkeeper


def test_the_public_names_are_these() -> None:
    assert doorkeeper.__all__ == ["Admin", "Doorkeeper", "__version__"]
    for name in doorkeeper.__all__:
        assert getattr(doorkeeper, name) is not None


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="Butler"):
        doorkeeper.Butler  # noqa: B018
