// Function date argument.
// expect: returned {"at": "1970-01-01T00:00:00.000Z", "m": {"a": 1}, "s": [1]}
async function run(params) {
  return await echo({ at: new Date(0), m: new Map([["a", 1]]), s: new Set([1]) });
}
