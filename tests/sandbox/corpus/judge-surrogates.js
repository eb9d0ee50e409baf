// Halves of surrogate pairs become U+FFFD.
// judge: true
// expect: returned 1
// args: [{"texts": ["\ufffd"], "labels": ["a", "b\ufffd"]}]
async function run(params) {
  return (await classify(["\ud800"], ["a", "b\udc00"])).labels.length;
}
