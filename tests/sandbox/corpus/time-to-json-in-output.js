// toJSON is honoured, under the deadline.
// expect: execution.timeout
async function run(params) {
  return {
    toJSON() {
      for (;;);
    },
  };
}
