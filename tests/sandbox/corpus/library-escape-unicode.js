// Escape unicode.
// expect: returned ["%C3%A9%20%F0%9F%98%80", "é 😀"]
async function run(params) {
  return [encodeURIComponent("é 😀"), decodeURIComponent("%C3%A9%20%F0%9F%98%80")];
}
