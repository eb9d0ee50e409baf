// Console getter not called.
// expect: returned 1
// ran: 0
// prints: [getter]
async function run(params) {
  console.log({ get a() { save({}); return 1; } });
  return 1;
}
