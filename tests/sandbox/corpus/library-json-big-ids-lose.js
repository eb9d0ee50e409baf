// Json big ids lose.
// expect: returned "9223372036854775807"
// params: {"id": 9223372036854775807}
async function run(params) {
  return String(params.id);
}
