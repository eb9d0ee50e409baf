// Maps are objects, or pairs where a key is no text.
// expect: returned [{"a": 1, "__proto__": 2}, [[1, "x"]]]
async function run(params) {
  return [new Map([["a", 1], ["__proto__", 2]]), new Map([[1, "x"]])];
}
