// A proxy whose length never ends is stopped by its size.
// judge: true
// expect: execution.args_too_large
// limits: {"call_args_bytes_max": 10000}
// ran: 0
async function run(params) {
  const endless = new Proxy([], { get: (target, name) => (name === "length" ? 2 ** 40 : "x") });
  return await classify(endless, ["a", "b"]);
}
