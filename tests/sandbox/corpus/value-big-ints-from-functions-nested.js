// Big ints from functions nested.
// expect: returned {"ids": ["9223372036854775807", "9223372036854775807"], "kind": "bigint"}
// args: [{}, {}, {"rows": [{"id": "9223372036854775807"}, {"id": "9223372036854775807"}]}]
async function run(params) {
  const a = (await big({})).id;
  const b = (await big({})).id;
  await save({ rows: [{ id: a }, { id: b }] });
  return { ids: [a, b], kind: typeof a };
}
