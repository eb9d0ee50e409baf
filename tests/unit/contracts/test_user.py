import pytest
from pydantic import ValidationError

from vardy_worker.contracts.user import User


@pytest.mark.parametrize(
    "text", ["ana", "ana@shop.example", "Ana Maria", "\u0430\u043d\u043d\u0430", "\u5b89\u5a1c", "7"]
)
def test_an_id_is_any_text_that_people_can_read(text: str) -> None:
    assert User(id=text).id == text


def test_one_id_written_in_two_ways_is_one_person() -> None:
    assert User(id="Jose\u0301").id == User(id="Jos\u00e9").id


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "ana ",
        " ana",
        "ana\n",
        "an\x00a",
        "ana\u200b",
        "\u202eana",
        "ana\ufeff",
        "ana\xa0",
        "ana\u2028",
        "\ud800",
        "ana\ufe0f",
        "ana\u034f",
        "ana\u3164",
        "\u2800ana",
        "ana\U000e0100",
        "ana  maria",
        "ana\xa0maria",
        "ana\u3000maria",
    ],
    ids=ascii,
)
def test_an_id_that_could_look_like_another_is_refused(text: str) -> None:
    with pytest.raises(ValidationError):
        User(id=text)
