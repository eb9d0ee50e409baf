// Recursion through a coercion.
// expect: execution.stack
async function run(params) {
  const o = {
    toString() {
      return `${this}`;
    },
  };
  return `${o}`;
}
