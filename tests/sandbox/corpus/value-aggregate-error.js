// Aggregate error.
// expect: returned {"name": "AggregateError", "message": "several"}
async function run(params) {
  return new AggregateError([new Error("a")], "several");
}
