// An error in a microtask is a rejection that nobody handles.
// expect: returned 1
// warns: in a microtask
async function run(params) {
  queueMicrotask(() => {
    throw new Error("in a microtask");
  });
  await echo({});
  return 1;
}
