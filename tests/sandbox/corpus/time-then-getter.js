// A thenable that never says whether it is one.
// expect: execution.timeout
async function run(params) {
  return {
    get then() {
      for (;;);
    },
  };
}
