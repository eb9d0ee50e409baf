// Console method swapped.
// expect: returned 1
// prints: via log
async function run(params) {
  const { log } = console;
  console.log = () => { throw 1; };
  log("via log");
  return 1;
}
