// Proxy global replaced.
// expect: returned {"t": null}
async function run(params) {
  globalThis.Proxy = function () { throw new Error("no"); };
  const t = await save({});
  return { t: t.id === undefined ? 1 : null };
}
