// A million texts are too large for one call.
// judge: true
// expect: execution.args_too_large
// limits: {"execute_seconds_max": 5}
// ran: 0
async function run(params) {
  return await classify(Array.from({ length: 1000000 }, (_, i) => "text " + i), ["a", "b"]);
}
