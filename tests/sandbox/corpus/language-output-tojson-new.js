// Output tojson new.
// expect: execution.stack | execution.value | execution.memory | execution.timeout
async function run(params) {
  const f = () => ({ toJSON: f });
  return f();
}
