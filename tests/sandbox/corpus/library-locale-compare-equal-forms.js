// Locale compare equal forms.
// expect: returned [0, 0]
async function run(params) {
  return ["é".localeCompare("e\u0301"), "".localeCompare("")];
}
