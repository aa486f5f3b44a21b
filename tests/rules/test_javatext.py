"""Java's text functions: proven on what Java itself printed, then at the borders that matter to a verdict."""

from __future__ import annotations

import math
import struct
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.rules.java_vectors import committed, printed

from doorkeeper.rules import javatext
from doorkeeper.rules.javatext import (
    decode_utf8,
    equals_ignore_case,
    escape_for_display,
    format_double,
    join_surrogates,
    parse_double,
    parse_hex_byte,
    parse_int,
    parse_long,
    parse_short,
    split_java,
    split_list,
    trim,
    utf16_length,
)

EVERY_CHARACTER = [chr(code) for code in range(0x110000)]
BASIC_PLANE = EVERY_CHARACTER[:0x10000]
ANY_TEXT = st.text(st.characters())
WITH_SURROGATES = st.text(st.one_of(st.characters(), st.characters(categories=["Cs"])))


def bits_of(value: float | None) -> str | None:
    """`Double.doubleToLongBits` in hexadecimal, with Java's one NaN."""
    if value is None:
        return None
    return f"{int.from_bytes(struct.pack('>d', math.nan if math.isnan(value) else value)):x}"


def double_of(bits: str) -> float:
    value: float = struct.unpack(">d", int(bits, 16).to_bytes(8))[0]
    return value


class TestVectorsOfJava:
    def test_numbers_agree(self) -> None:
        _, rows = committed("javatext-numbers")
        assert len(rows) > 5000
        for row in rows:
            text = row["text"]
            got = (parse_short(text), parse_int(text), parse_long(text), bits_of(parse_double(text)))
            assert got == (row["short"], row["int"], row["long"], row["double"]), ascii(text)

    def test_numbers_have_lawful_and_unlawful_texts_of_every_kind(self) -> None:
        _, rows = committed("javatext-numbers")
        for kind in ("short", "int", "long", "double"):
            counts = Counter(row[kind] is None for row in rows)
            assert min(counts[True], counts[False]) > 300, kind

    def test_lengths_and_parts_agree(self) -> None:
        _, rows = committed("javatext-parts")
        assert len(rows) > 1500
        for row in rows:
            text = row["text"]
            got = (utf16_length(text), trim(text), split_java(text), split_list(text))
            assert got == (row["length"], row["trim"], row["split"], row["list"]), ascii(text)

    def test_bytes_that_are_no_utf_8_give_the_same_text(self) -> None:
        _, rows = committed("javatext-bytes")
        assert len(rows) > 5000
        for row in rows:
            assert decode_utf8(bytes.fromhex(row["bytes"])) == row["text"], row

    def test_doubles_agree_with_the_shortest_form(self) -> None:
        _, rows = committed("javatext-doubles")
        assert len(rows) > 5000
        for row in rows:
            assert format_double(double_of(row["bits"])) == row["shortest"], row

    def test_doubles_differ_from_jdk_17_only_where_its_text_is_not_the_shortest(self) -> None:
        _, rows = committed("javatext-doubles")
        for row in rows:
            if row["jdk"] != row["shortest"]:
                assert parse_double(row["jdk"]) == double_of(row["bits"])
                assert len(row["jdk"]) >= len(row["shortest"])

    def test_every_decimal_digit_of_java_is_one_and_no_other_character(self) -> None:
        digits = {c: value for c in EVERY_CHARACTER if (value := parse_int(c)) is not None}
        assert digits == {chr(code): value for value in range(10) for code in characters(f"int {value}")}

    def test_doubles_have_ascii_digits_only(self) -> None:
        digits = {c: value for c in BASIC_PLANE if (value := parse_double(c)) is not None}
        assert digits == {chr(code): value for value in range(10) for code in characters(f"double {value}")}
        assert "".join(digits) == "0123456789"

    def test_every_hexadecimal_digit_of_java_is_one_and_no_other_character(self) -> None:
        digits = {c: value for c in BASIC_PLANE if (value := parse_hex_byte(f"0{c}")) is not None}
        assert digits == {chr(code): value for value in range(16) for code in characters(f"hex {value}")}

    def test_every_letter_equals_what_java_says_whatever_its_case(self) -> None:
        for letter in "abcdefghijklmnopqrstuvwxyz":
            found = [ord(c) for c in BASIC_PLANE[:0x3000] if equals_ignore_case(c, letter)]
            assert found == characters(f"equals {letter}")

    def test_trims_the_characters_that_java_trims(self) -> None:
        assert [ord(c) for c in BASIC_PLANE if not trim(c)] == characters("trimmed")

    def test_takes_the_white_space_around_commas_that_java_takes(self) -> None:
        found = [ord(c) for c in BASIC_PLANE if c != "," and split_list(f"a{c},{c}b") == ["a", "b"]]
        assert found == characters("around comma")

    @pytest.mark.kafka
    @pytest.mark.parametrize("section", ["characters", "numbers", "parts", "bytes"])
    def test_java_still_says_the_same(self, section: str) -> None:
        assert printed("JavaTextVectors", section)[1] == committed(f"javatext-{section}")[1]

    @pytest.mark.kafka
    def test_java_still_says_the_same_of_doubles(self) -> None:
        header, rows = printed("JavaTextVectors", "doubles")
        _, known = committed("javatext-doubles")
        assert [(row["bits"], row["shortest"]) for row in rows] == [(row["bits"], row["shortest"]) for row in known]
        own = "jdk" if int(header["jdk"].partition(".")[0]) < 19 else "shortest"
        assert [row["jdk"] for row in rows] == [row[own] for row in known]


def characters(name: str) -> list[int]:
    """The code points that Java gives the property."""
    _, rows = committed("javatext-characters")
    found: list[int] = next(row["characters"] for row in rows if row["property"] == name)
    return found


class TestLength:
    @pytest.mark.parametrize(
        ("text", "units"),
        [
            ("", 0),
            ("abc", 3),
            ("é", 1),
            ("中文", 2),
            ("\uffff", 1),
            ("\ufeff", 1),
            ("\U00010000", 2),
            ("😀" * 125, 250),
            ("\ud83d", 1),
        ],
    )
    def test_counts_code_units(self, text: str, units: int) -> None:
        assert utf16_length(text) == units

    def test_counts_a_pair_alike_as_one_character_and_as_two(self) -> None:
        assert utf16_length("\ud83d\ude00") == utf16_length("😀") == 2

    @given(WITH_SURROGATES)
    def test_is_the_number_of_characters_plus_those_beyond_the_basic_plane(self, text: str) -> None:
        assert utf16_length(text) == len(text) + sum(character > "\uffff" for character in text)


class TestJoinSurrogates:
    def test_joins_a_pair(self) -> None:
        assert join_surrogates("a\ud83d\ude00b") == "a😀b"

    @pytest.mark.parametrize("text", ["\ud83d", "\ufeffé", "x\ude00", "\ude00\ud83d", "\ud83dx\ude00", "plain", "é"])
    def test_keeps_what_is_no_pair(self, text: str) -> None:
        assert join_surrogates(text) == text

    @given(ANY_TEXT)
    def test_keeps_every_well_formed_text(self, text: str) -> None:
        assert join_surrogates(text) == text


class TestIntegers:
    @pytest.mark.parametrize(
        ("parse", "lowest", "highest"),
        [
            (parse_short, javatext.SHORT_MIN, javatext.SHORT_MAX),
            (parse_int, javatext.INT_MIN, javatext.INT_MAX),
            (parse_long, javatext.LONG_MIN, javatext.LONG_MAX),
        ],
        ids=["short", "int", "long"],
    )
    def test_reads_its_range_and_not_one_more(self, parse: type[int], lowest: int, highest: int) -> None:
        assert parse(f"{lowest}") == lowest
        assert parse(f"+{highest}") == highest
        assert parse(f"{lowest - 1}") is None
        assert parse(f"{highest + 1}") is None

    @pytest.mark.parametrize("text", ["", "+", "-", "1_000", "1e3", " 1", "1 ", "1\n", "0x1", "--1", "\u00a01", "𝟏"])
    def test_refuses_what_is_no_integer(self, text: str) -> None:
        assert parse_int(text) is None

    @pytest.mark.parametrize(("text", "value"), [("+5", 5), ("-0", 0), ("007", 7), ("٣", 3), ("-１２", -12)])
    def test_reads_signs_zeros_and_digits_of_every_script(self, text: str, value: int) -> None:
        assert parse_int(text) == value

    def test_reads_thousands_of_leading_zeros_and_refuses_thousands_of_digits(self) -> None:
        assert parse_long("0" * 100_000 + "7") == 7
        assert parse_long("7" * 100_000) is None

    @given(st.integers(javatext.LONG_MIN, javatext.LONG_MAX))
    def test_reads_back_every_long(self, value: int) -> None:
        assert parse_long(str(value)) == value

    @given(WITH_SURROGATES)
    def test_judges_any_text_without_raising(self, text: str) -> None:
        value = parse_int(text)
        assert value is None or javatext.INT_MIN <= value <= javatext.INT_MAX


class TestHexByte:
    @pytest.mark.parametrize(
        ("text", "value"), [("41", 65), ("fF", 255), ("+5", 5), ("-1", -1), ("５Ｆ", 95), ("٤1", 65)]
    )
    def test_reads_what_java_reads(self, text: str, value: int) -> None:
        assert parse_hex_byte(text) == value

    @pytest.mark.parametrize("text", ["", "4", "4g", "++", "0x", " 4", "4 ", "_4", "4\n"])
    def test_refuses_the_rest(self, text: str) -> None:
        assert parse_hex_byte(text) is None


class TestDoubles:
    @pytest.mark.parametrize(
        ("text", "value"),
        [
            (".5", 0.5),
            ("5e-1", 0.5),
            ("0x1p-1", 0.5),
            ("\x00 1d\n", 1.0),
            ("1e400", math.inf),
            ("-0x1p9999", -math.inf),
        ],
    )
    def test_reads_java_s_grammar(self, text: str, value: float) -> None:
        assert parse_double(text) == value

    @pytest.mark.parametrize("text", ["", " ", "nan", "inf", "1_0", "0x1", "1e", "٣", "\u00a01", "1,5"])
    def test_refuses_what_is_no_double(self, text: str) -> None:
        assert parse_double(text) is None

    def test_reads_the_words(self) -> None:
        assert (parse_double("+Infinity"), parse_double("-Infinity")) == (math.inf, -math.inf)
        assert math.isnan(parse_double("-NaN") or 0.0)

    @pytest.mark.parametrize(
        ("value", "text"),
        [(0.5, "0.5"), (-0.0, "-0.0"), (1e7, "1.0E7"), (9999999.0, "9999999.0"), (0.001, "0.001"), (0.00099, "9.9E-4")],
    )
    def test_writes_plain_and_scientific_form_on_either_side_of_their_border(self, value: float, text: str) -> None:
        assert format_double(value) == text

    @given(st.floats(allow_nan=False))
    def test_reads_back_every_double_it_writes(self, value: float) -> None:
        assert bits_of(parse_double(format_double(value))) == bits_of(value)


class TestLists:
    def test_the_two_splits_differ_in_empty_entries(self) -> None:
        assert split_java("a,,") == ["a"]
        assert split_list("a,,") == ["a", "", ""]
        assert split_java("") == [""]
        assert split_list("") == []
        assert split_java(",,") == []

    def test_only_the_config_list_trims_its_entries(self) -> None:
        assert split_java(" a , b ") == [" a ", " b "]
        assert split_list(" a , b ") == ["a", "b"]

    def test_splits_at_another_separator(self) -> None:
        assert split_java("a:b,c:", ":") == ["a", "b,c"]

    @pytest.mark.parametrize("text", ["false", "FALSE", "fAlSe", "falſe"])
    def test_false_has_a_spelling_beyond_ascii(self, text: str) -> None:
        assert equals_ignore_case(text, "False")

    @pytest.mark.parametrize("text", ["", "fals", "false ", "ｆalse"])
    def test_other_words_are_not_false(self, text: str) -> None:
        assert not equals_ignore_case(text, "false")


class TestEscapeForDisplay:
    @pytest.mark.parametrize(
        ("text", "shown"),
        [
            ("group-1 é中😀", "group-1 é中😀"),
            ("a\nb\r\t", "a\\nb\\r\\t"),
            ("\x1b[31m\x7f", "\\x1b[31m\\x7f"),
            ("\u202eabc\u2028", "\\u202eabc\\u2028"),
            ("\ud83d", "\\ud83d"),
            ("\U000e0001", "\\U000e0001"),
            ("\u00a0", "\\xa0"),
            ("C:\\n", "C:\\\\n"),
        ],
    )
    def test_escapes_what_a_terminal_would_obey_or_hide(self, text: str, shown: str) -> None:
        assert escape_for_display(text) == shown

    def test_shows_64_characters_whole_and_shortens_65(self) -> None:
        assert escape_for_display("g" * 64) == "g" * 64
        assert escape_for_display("g" * 65) == "g" * 63 + "…"

    def test_never_cuts_an_escape_in_two(self) -> None:
        assert escape_for_display("\u202e\u202e", limit=12) == "\\u202e\\u202e"
        assert escape_for_display("\u202e\u202e", limit=11) == "\\u202e…"
        assert escape_for_display("ab\u202e", limit=5) == "ab…"

    @given(WITH_SURROGATES, st.integers(1, 80))
    def test_fits_prints_on_one_line_and_encodes(self, text: str, limit: int) -> None:
        shown = escape_for_display(text, limit)
        assert len(shown) <= limit
        assert shown.isprintable()
        assert shown.encode().decode() == shown


@given(ANY_TEXT)
def test_bytes_of_a_text_give_that_text(text: str) -> None:
    assert decode_utf8(text.encode()) == text


@given(st.binary())
def test_a_replaced_text_is_no_longer_than_its_bytes(data: bytes) -> None:
    """What the door relies on, where it measures bytes instead of text."""
    text = decode_utf8(data)
    assert utf16_length(text) <= len(data)
    assert decode_utf8(text.encode()) == text
