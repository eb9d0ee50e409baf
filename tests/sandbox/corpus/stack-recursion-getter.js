// Recursion through a getter.
// expect: execution.stack
async function run(params) {
  const o = {
    get x() {
      return this.x;
    },
  };
  return o.x;
}
