// undefined is left out of objects, and null in arrays.
// expect: returned {"b": [null, 1], "c": null}
async function run(params) {
  return { a: undefined, b: [undefined, 1], c: null };
}
