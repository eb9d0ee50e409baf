// Getter in console.
// expect: returned 1
async function run(params) {
  console.log(new (class { get x() { for (;;); } })());
  return 1;
}
