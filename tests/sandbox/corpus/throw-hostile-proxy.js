// A thrown proxy that throws whatever it is asked.
// expect: execution.thrown
async function run(params) {
  const bad = () => {
    throw 1;
  };
  throw new Proxy({}, { get: (t, key) => (key === "errors" ? new Proxy([], { get: bad }) : bad()), getPrototypeOf: bad, ownKeys: bad });
}
