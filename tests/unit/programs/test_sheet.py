from __future__ import annotations

from vardy_worker.programs.sheet import Edit, Sheet


def test_added_lines_have_no_line_in_the_text_and_the_rest_keep_theirs() -> None:
    sheet = Sheet.of("a\nb", first=5)

    edited = sheet.apply([Edit(0, 0, "start\n"), Edit(2, 2, "middle\n"), Edit(3, 3, "\nend")])

    assert edited == Sheet("start\na\nmiddle\nb\nend", (0, 5, 0, 6, 0))


def test_a_line_that_is_split_belongs_to_its_line_twice() -> None:
    edited = Sheet.of("a; b").apply([Edit(3, 3, "\nreturn (\n   "), Edit(4, 4, "\n);")])

    assert edited == Sheet("a; \nreturn (\n   b\n);", (1, 0, 1, 0))


def test_blanking_keeps_lines_and_columns() -> None:
    sheet = Sheet.of("ab\ncd\nef")

    assert sheet.apply([sheet.blank(1, 7)]) == Sheet("a \n  \n f", (1, 2, 3))


def test_edits_of_an_edited_text_lead_back_to_the_first() -> None:
    once = Sheet.of("x\ny\nz").apply([Edit(0, 0, "new\n")])

    assert once.apply([Edit(4, 6, "")]) == Sheet("new\ny\nz", (0, 2, 3))


def test_empty_lines_keep_their_places() -> None:
    assert Sheet.of("a\n\n\nb").apply([Edit(0, 1, "c")]).lines == (1, 2, 3, 4)
