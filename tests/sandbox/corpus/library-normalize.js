// Normalize.
// expect: returned [1, 2, "fi", true]
async function run(params) {
  return ["e\u0301".normalize().length, "é".normalize("NFD").length, "ﬁ".normalize("NFKC"), "Ação".normalize("NFD").replace(/[\u0300-\u036f]/g, "") === "Acao"];
}
