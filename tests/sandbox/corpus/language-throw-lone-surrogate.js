// Throw lone surrogate.
// expect: execution.thrown
async function run(params) {
  throw new Error("\ud800 \udfff \u0000 \u2028");
}
