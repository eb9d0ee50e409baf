// A getter in the arguments of a call.
// expect: execution.timeout
async function run(params) {
  await echo({
    get a() {
      for (;;);
    },
  });
}
