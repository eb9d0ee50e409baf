// Number prototype to string.
// expect: returned [1.5, "5"]
async function run(params) {
  Number.prototype.toString = BigInt.prototype.toString = () => "evil";
  return [1.5, 5n];
}
