// No argument is the empty object.
// expect: returned {}
// args: [{}]
async function run(params) {
  return echo();
}
