// Private methods.
// expect: returned [4, "TypeError"]
async function run(params) {
  class A { #v = 2; get d() { return this.#v * 2; } static bad(o) { return o.#v; } }
  let name;
  try { A.bad({}); } catch (e) { name = e.name; }
  return [new A().d, name];
}
