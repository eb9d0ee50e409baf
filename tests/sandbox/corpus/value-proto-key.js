// __proto__ is a key like others.
// expect: returned {"__proto__": {"admin": true}, "constructor": 1}
async function run(params) {
  return JSON.parse('{"__proto__": {"admin": true}, "constructor": 1}');
}
