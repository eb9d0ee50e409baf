// Thenable arguments.
// expect: returned {"o": {"v": 1}}
// args: [{"o": {"v": 1}}]
async function run(params) {
  return await echo({ o: { v: 1, then: undefined } });
}
