// A thrown error with an endless message.
// expect: execution.timeout
async function run(params) {
  const e = new Error("x");
  Object.defineProperty(e, "message", {
    get() {
      for (;;);
    },
  });
  throw e;
}
