// Map in clone.
// expect: returned [["a", 1]]
async function run(params) {
  const made = new Map([["a", 1]]);
  Map.prototype.set = Map.prototype.forEach = () => { throw new Error("no"); };
  return [...structuredClone(made)];
}
