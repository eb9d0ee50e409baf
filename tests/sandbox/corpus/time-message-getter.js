// A thrown object with an endless message.
// expect: execution.timeout
async function run(params) {
  throw {
    get message() {
      for (;;);
    },
  };
}
