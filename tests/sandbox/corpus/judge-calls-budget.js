// Questions are calls like others.
// judge: true
// expect: execution.calls_budget
// limits: {"calls_max": 2}
// ran: 2
async function run(params) {
  for (let i = 0; i < 3; i++) await ai("i", i, { type: "number" });
}
