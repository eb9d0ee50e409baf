// A proxy trap that the encoder has to meet.
// expect: execution.timeout
async function run(params) {
  return new Proxy(
    {},
    {
      ownKeys() {
        for (;;);
      },
    },
  );
}
