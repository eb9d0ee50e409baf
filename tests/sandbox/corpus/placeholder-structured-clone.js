// Structured clone.
// expect: returned {"t": null}
// output_refs: []
async function run(params) {
  return { ...structuredClone({ t: await save({}) }), t: structuredClone({ t: await save({}) }).t === undefined ? 1 : null };
}
