// Generators.
// expect: returned [[1, 2, 3], [0, 1, 4], {"value": 9, "done": true}]
async function run(params) {
  function* g() { yield 1; yield* [2, 3]; }
  const it = g();
  it.next();
  const squares = [...(function* () { for (let i = 0; i < 3; i++) yield i * i; })()];
  return [[...g()], squares, it.return(9)];
}
