// Integers beyond 2^53 never become other integers.
// expect: returned [9007199254740991, "1152921504606846976", 1e+21, "-9007199254740992"]
// warns: beyond 2^53
async function run(params) {
  return [2 ** 53 - 1, 2 ** 60, 1e21, -(2 ** 53)];
}
