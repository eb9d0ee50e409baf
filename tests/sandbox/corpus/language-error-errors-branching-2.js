// Error errors branching 2.
// expect: execution.thrown | execution.timeout
async function run(params) {
  let e = new Error("leaf");
  for (let i = 0; i < 16; i++) { const f = new Error("n" + i); f.errors = Array(64).fill(e); e = f; } throw e;
}
