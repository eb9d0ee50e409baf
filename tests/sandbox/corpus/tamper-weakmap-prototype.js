// Weakmap prototype.
// expect: execution.placeholder
async function run(params) {
  WeakMap.prototype.get = () => undefined;
  WeakMap.prototype.has = () => false;
  const t = await save({});
  return t + 1;
}
