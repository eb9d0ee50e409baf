// A getter that the encoder has to call.
// expect: execution.timeout
async function run(params) {
  return {
    get a() {
      for (;;);
    },
  };
}
