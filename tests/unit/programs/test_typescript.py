from __future__ import annotations

import pytest

from vardy_worker.programs.sheet import Sheet
from vardy_worker.programs.syntax import is_javascript
from vardy_worker.programs.typescript import strip_types


@pytest.mark.parametrize(
    ("typed", "plain"),
    [
        ("let x!: number; x = 1;", "let x; x = 1;"),
        ("try { f() } catch (e: unknown) { g(e as Error) }", "try { f() } catch (e) { g(e) }"),
        ("for (const x of xs as any[]) { x!.y![0]!.z; }", "for (const x of xs) { x.y[0].z; }"),
        ("const id = <T,>(x: T): T => x;", "const id = (x) => x;"),
        ("const v = <any>foo; const w = (<string>bar).length;", "const v = foo; const w = (bar).length;"),
        ("const g = async <T>(x: T): Promise<T> => x;", "const g = async (x) => x;"),
        ("function f(x: unknown): asserts x is string {}", "function f(x) {}"),
        ("function c<const T extends readonly unknown[]>(x: T): T { return x }", "function c(x) { return x }"),
        ("const u = a as unknown as { b: { c: number } }[];", "const u = a;"),
        ("const t = a ? (b as C) : (d as E);", "const t = a ? (b) : (d);"),
        (
            "const f = function <T>(this: Window, a: T, ...b: string[]): T { return a };",
            "const f = function (a, ...b) { return a };",
        ),
        ("const m = new Map<string, Array<{ a: number }>>();", "const m = new Map();"),
        ("const y = f<string>('a') + g<number, string>(1, 'b');", "const y = f('a') + g(1, 'b');"),
        ("const h = async ({ a, b = 1 }: { a: string; b?: number }) => {};", "const h = async ({ a, b = 1 }) => {};"),
        ("const z = a! + b!; !a!; a!++; (a as any).b = 1;", "const z = a + b; !a; a++; (a).b = 1;"),
        ("const o = a?.b!.c; const n = a!?.b;", "const o = a?.b.c; const n = a?.b;"),
        ("const x = y as any as string[], z = 1;", "const x = y, z = 1;"),
        ("const as = 1; const satisfies = 2; const type = as;", "const as = 1; const satisfies = 2; const type = as;"),
        ("class A { private x: number = 1; get a(): number { return 1 } }", "class A { x = 1; get a() { return 1 } }"),
        ("class A { declare x: number; [k: string]: any; m?(): void; }", "class A { ; ; ; }"),
        ("abstract class A<T> extends B<T> implements C { abstract x: T; }", "class A extends B { ; }"),
        ("type T = { a: 1 }; interface I { b(): void }", "; ;"),
        ("declare module 'x' { export const y: number }", ";"),
        ("function o(a: string): string; function o(a: any) { return a }", "; function o(a) { return a }"),
        ("import type { A } from 'a'; export type { A };", "; ;"),
        ("enum A { B, C = 4, D, E = 'e' }", 'const A = { B: 0, "0": "B", C: 4, "4": "C", D: 5, "5": "D", E: \'e\' };'),
        ("const enum A { B = -1 }", 'const A = { B: -1, "-1": "B" };'),
    ],
)
def test_types_go_and_the_program_stays(typed: str, plain: str) -> None:
    stripped = strip_types(Sheet.of(typed))

    assert stripped is not None
    assert _squeezed(stripped.text) == _squeezed(plain)
    assert is_javascript(stripped.text)


def test_what_stays_keeps_its_line_and_column() -> None:
    typed = (
        "interface Row { id: number }\n"
        "const find = async <T extends Row>(\n"
        "  rows: T[],\n"
        "  id: number,\n"
        "): Promise<\n"
        "  T | undefined\n"
        "> => rows.find((row: T): boolean => (row.id as number) === id)!;\n"
    )

    stripped = strip_types(Sheet.of(typed))

    assert stripped is not None
    assert is_javascript(stripped.text)
    before, after = typed.split("\n"), stripped.text.split("\n")
    assert len(before) == len(after)
    for word, row in (("find", 1), ("rows", 2), ("=>", 6), ("rows.find", 6), ("row.id", 6), ("=== id", 6)):
        assert after[row].index(word) == before[row].index(word)
    # The grammar allows a line end before `=>`, and no engine does.
    assert after[6].index(")") < after[6].index("=>")


@pytest.mark.parametrize(
    "text",
    [
        "const = 1;",
        "Here is the program.",
        "namespace A { export const b = 1 }",
        "enum A { B = f() }",
        "@dec class A {}",
    ],
)
def test_what_is_no_typescript_or_has_no_plain_form_is_left_alone(text: str) -> None:
    assert strip_types(Sheet.of(text)) is None


def _squeezed(text: str) -> str:
    return "".join(text.split())
