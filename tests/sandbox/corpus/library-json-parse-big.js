// Json parse big.
// expect: returned "9223372036854775808"
// warns: beyond 2^53
async function run(params) {
  return JSON.parse("9223372036854775807");
}
