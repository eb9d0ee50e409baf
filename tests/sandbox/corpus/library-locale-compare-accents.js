// Locale compare accents.
// expect: returned ["cote", "Cote", "coté", "côte", "côté", "straße", "strasse2", "zebra", "ядро", "яма"]
async function run(params) {
  return ["côté", "coté", "côte", "Cote", "cote", "zebra", "straße", "strasse2", "яма", "ядро"].sort((a, b) => a.localeCompare(b));
}
