// With resolvers try.
// expect: returned [1, 2, "x"]
async function run(params) {
  const { promise, resolve } = Promise.withResolvers();
  resolve(1);
  const t = await Promise.try(() => 2);
  const e = await Promise.try(() => { throw new Error("x"); }).catch((e) => e.message);
  return [await promise, t, e];
}
