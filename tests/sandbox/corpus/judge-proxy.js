// Proxies are read like what they stand for.
// judge: true
// expect: returned 1
// args: [{"texts": ["x"], "labels": ["a", "b"]}]
async function run(params) {
  const texts = new Proxy(["x"], {});
  return (await classify(texts, new Proxy(["a", "b"], {}))).labels.length;
}
