// A program that catches the error of full memory goes on, until its time is up.
// expect: execution.timeout | execution.memory
async function run(params) {
  const a = [];
  for (;;) {
    try {
      a.push(Array(1e5).fill(1));
    } catch {}
  }
}
