// The result of a write crosses as a reference, for the worker to refuse.
// judge: true
// expect: returned 1
// refs: [["/texts/0", 0, "/name"], ["/data", 0, ""]]
async function run(params) {
  const made = await save({});
  const { labels } = await classify([made.name], ["a", "b"]);
  await ai("i", made, { type: "string" });
  return labels.length;
}
