// BigInts are decimal strings.
// expect: returned ["1", "18446744073709551616", "-9007199254740992"]
async function run(params) {
  return [1n, 2n ** 64n, -(2n ** 53n)];
}
