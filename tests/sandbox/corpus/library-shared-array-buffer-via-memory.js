// Shared array buffer via memory.
// expect: execution.missing
async function run(params) {
  return new WebAssembly.Memory({ initial: 1 });
}
