// Deadlock with lost rejection.
// expect: execution.deadlock
// warns: nobody
async function run(params) {
  Promise.reject(new Error("why"));
  await new Promise(() => {});
}
