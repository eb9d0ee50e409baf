// Ai: instruction, data and options.
// judge: true
// expect: returned {"when": "2026-01-02T00:00:00.000Z", "tags": ["a"]}
// args: [{"instruction": "Which?", "data": {"when": "2026-01-02T00:00:00.000Z", "tags": ["a"]}, "options": {"type": {"day": "string"}}}]
async function run(params) {
  return await ai("Which?", { when: new Date(Date.UTC(2026, 0, 2)), tags: new Set(["a"]) }, { type: { day: "string" } });
}
