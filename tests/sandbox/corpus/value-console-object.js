// Console object.
// expect: returned {}
async function run(params) {
  return console;
}
