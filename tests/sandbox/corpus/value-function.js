// Functions are left out.
// expect: returned {"a": [null]}
// warns: function
async function run(params) {
  return { f() {}, g: () => 1, h: echo, a: [parseInt] };
}
