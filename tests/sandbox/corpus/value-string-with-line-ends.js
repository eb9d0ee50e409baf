// String with line ends.
// expect: returned "a\r\nb\u2028c\u0085d\u000be"
async function run(params) {
  return "a\r\nb\u2028c\u0085d\ve";
}
