// Atob.
// expect: returned ["Zm9v", "foo"]
async function run(params) {
  return [btoa("foo"), atob("Zm9v")];
}
