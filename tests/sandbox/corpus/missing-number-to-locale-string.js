// Missing, and says what to use instead.
// expect: execution.missing
// says: does not exist here
async function run(params) {
  return (1234.5).toLocaleString("pt-BR", { style: "currency", currency: "BRL" });
}
