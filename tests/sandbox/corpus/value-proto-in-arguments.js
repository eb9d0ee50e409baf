// __proto__ as data in arguments.
// expect: returned {"__proto__": {"admin": true}}
// args: [{"__proto__": {"admin": true}}]
async function run(params) {
  return echo(JSON.parse('{"__proto__": {"admin": true}}'));
}
