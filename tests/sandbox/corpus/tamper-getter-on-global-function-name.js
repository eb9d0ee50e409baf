// Getter on global function name.
// expect: returned {"n": 1}
async function run(params) {
  const real = echo;
  let reads = 0;
  Object.defineProperty(globalThis, "echo", { get() { reads++; return real; } });
  return await echo({ n: 1 });
}
