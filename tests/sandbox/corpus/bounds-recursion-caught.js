// Recursion caught.
// expect: execution.stack
async function run(params) {
  let depth = 0;
  const f = () => { depth++; f(); };
  try { f(); } catch { return depth > 100; }
}
