// Big int constructor.
// expect: returned "bigint"
async function run(params) {
  globalThis.BigInt = () => 0;
  return typeof (await big({})).id;
}
