// Classify: positional arguments cross as named ones.
// judge: true
// expect: returned {"labels": ["a", "a"], "counts": {"a": 2, "b": 0, "unknown": 0}}
// args: [{"texts": ["x", "y"], "labels": ["a", "b"]}]
// warns:
async function run(params) {
  return await classify(["x", "y"], ["a", "b"]);
}
